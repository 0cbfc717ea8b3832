//! Serves requests from simulated clients, and prints where the time went.

#![allow(clippy::print_stderr, reason = "a command line tool prints")]

use anyhow::Result;
use clap::Parser;
use engine::checkpoint;
use engine::clients::Clients;
use engine::engine::Engine;
use engine::flags::Flags;
use engine::recording::Recording;
use engine::report;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run(&Flags::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("engine: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(flags: &Flags) -> Result<()> {
    // candle computes in a pool of threads. If this thread is one of them, small operations are not handed over to
    // another one, which takes longer than the operation.
    rayon::ThreadPoolBuilder::new().use_current_thread().build_global()?;
    let recording = Recording::begin(flags.off)?;
    ferrum_trace::set_thread_name("engine");
    let engine = Engine::load(checkpoint::open(flags)?, flags)?;
    let clients = Clients::new(flags, engine.config());
    let stats = engine.serve(clients)?;
    if let Some(path) = &flags.stats {
        stats.write(path)?;
    }
    print(&report::of_stats(&stats));
    print(&recording.end()?);
    Ok(())
}

/// Prints some lines, and ignores a closed pipe, as in `engine | head`.
fn print(lines: &str) {
    let _ = std::io::stdout().write_all(lines.as_bytes());
}
