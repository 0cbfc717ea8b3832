//! Compares ferrum-trace with a floor and its peers; `bench/README.md` explains every figure.
#![allow(clippy::disallowed_methods, reason = "this program measures time")]

mod args;
mod cargo_build;
mod child;
mod contenders;
#[cfg(feature = "devices")]
mod device_engine;
mod engine_runs;
mod figures;
mod header;
#[cfg(any(feature = "peers", test))]
mod pftrace;
mod report;
mod rounds;
mod sched_trace;
mod spelling;
mod start;
mod sys;
mod table;
mod torch_like;

use std::process::ExitCode;

use clap::Parser as _;

use args::Args;
use contenders::Outcome;
use header::Header;
use report::Report;
use start::Start;

fn main() -> ExitCode {
    let start = Start::now();
    let mut given = std::env::args().skip(1);
    let outcome = match (given.next().as_deref(), given.next()) {
        (Some(child::CHILD), Some(job)) => child::serve(&job, start),
        #[cfg(feature = "devices")]
        (Some(device_engine::ENGINE), driver) => device_engine::run(driver.into_iter().chain(given)),
        _ => run(&Args::parse()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_message(&format!("bench: {error}"));
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Outcome {
    let header = Header::collect(&args.contenders());
    let report = Report { header, tables: figures::run(args)? };
    print(&if args.json { report.to_json()? } else { report.to_markdown() });
    if let Some(name) = &args.save {
        print_message(&format!("saved bench/runs/{}", report.save(name)?));
    }
    Ok(())
}

#[allow(clippy::print_stdout, reason = "prints the tables")]
fn print(text: &str) {
    println!("{}", text.trim_end());
}

/// Messages, as opposed to results, go to standard error.
#[allow(clippy::print_stderr, reason = "progress and errors")]
pub(crate) fn print_message(text: &str) {
    eprintln!("{text}");
}
