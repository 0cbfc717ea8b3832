//! What recording costs an engine: decode steps of `examples/engine`, with recording off and on by turns in one process.

use std::path::Path;
use std::time::Duration;

use clap::Parser as _;
use engine::checkpoint;
use engine::engine::Engine;
use engine::flags::Flags;
use engine::sequence::{Sequence, Wish};
use ferrum_trace::Recorder;
use ferrum_trace::llm::Phase;

use super::against;
use crate::args::Args;
use crate::child::{self, Answer, Job, Task};
use crate::contenders::Outcome;
use crate::rounds::Rounds;
use crate::sys;
use crate::table::{Cell, Table};

/// Sequences in a batch.
const BATCH: u64 = 8;
/// Steps in a row with recording on, or off.
const STEPS: usize = 8;
/// How often off, on and off again take turns in one process.
const TURNS: usize = 16;
/// How long the recorder prepares its first chunks. Without a recorder the pause is the same, and what it does to caches.
const SETTLING: Duration = Duration::from_millis(5);
/// What takes turns. The third is the first again: what these two differ by is noise.
const MODES: [&str; 3] = ["off", "on", "off again"];

pub fn run(args: &Args) -> Outcome<Vec<Table>> {
    let mut cpu = [const { Vec::new() }; 3];
    let mut wall = [const { Vec::new() }; 3];
    let mut events = 0.0;
    for _ in 0..args.rounds {
        let folder = tempfile::tempdir()?;
        let answer = Job { dir: folder.path().to_owned(), ..Job::new(Task::Engine, "ferrum-trace") }.run()?;
        events = answer["events"];
        for turn in 0..TURNS {
            for (mode, name) in MODES.iter().enumerate() {
                cpu[mode].push(answer[&key("cpu", name, turn)]);
                wall[mode].push(answer[&key("wall", name, turn)]);
            }
        }
    }
    let rows = MODES.iter().enumerate().map(|(mode, name)| {
        let mut row = vec![Cell::text(*name)];
        for times in [&cpu, &wall] {
            let [base, rounds] = [0, mode].map(|mode| times[mode].iter().copied().collect::<Rounds>());
            row.extend(against(&rounds, &base, 3));
            row.push(Cell::maybe(paired(&times[mode], &times[0]), 4));
        }
        row
    });
    Ok(vec![Table {
        title: "Engine".to_owned(),
        note: format!(
            "Milliseconds per decode step of `examples/engine` ({BATCH} sequences, 8 layers), CPU of all threads and wall, \
             one thread for products; \
             {STEPS} steps off, {STEPS} on, {STEPS} off by turns, in one process. A step records {events:.0} events. `x` is \
             the ratio to off; `paired` is the median of the ratios within each turn."
        ),
        columns: vec![
            "recording",
            "CPU ms min",
            "CPU ms med",
            "x min",
            "x med",
            "paired",
            "wall ms min",
            "wall ms med",
            "x min",
            "x med",
            "paired",
        ],
        rows: rows.collect(),
    }])
}

/// The median of the ratios of what was measured in the same turn.
fn paired(times: &[f64], base: &[f64]) -> Option<f64> {
    times.iter().zip(base).map(|(time, base)| time / base).collect::<Rounds>().median()
}

fn key(clock: &str, mode: &str, turn: usize) -> String {
    format!("{clock} {mode} {turn}")
}

pub fn child(job: &Job) -> Outcome {
    let mut engine = decoding()?;
    let mut answer = Answer::new();
    for turn in 0..TURNS {
        // Each goes first as often as the others: the context grows from step to step.
        for place in 0..MODES.len() {
            let mode = MODES[(turn + place) % MODES.len()];
            let (cpu, wall) = match mode {
                "on" => recorded(&mut engine, &job.dir, &mut answer)?,
                _ => timed(&mut engine)?,
            };
            answer.extend([(key("cpu", mode, turn), cpu), (key("wall", mode, turn), wall)]);
        }
    }
    child::tell(&answer)?;
    sys::exit_now()
}

/// An engine with a full batch whose prompts are computed.
fn decoding() -> Outcome<Engine> {
    let n_tokens = MODES.len() * TURNS * (STEPS + 1) + 64;
    let flags = format!("engine --prompt=32 --tokens={n_tokens} --batch={BATCH} --step-tokens=512 --kv-blocks=4096");
    let flags = Flags::parse_from(flags.split(' '));
    let mut engine = Engine::load(checkpoint::open(&flags)?, &flags)?;
    for id in 1..=BATCH {
        let prompt = (0..flags.prompt as u32).collect();
        engine.add(Sequence::new(Wish { id, prompt, n_wanted: n_tokens, seed: id }));
    }
    while engine.step()?.phase != Phase::Decode {}
    Ok(engine)
}

/// Milliseconds a step: of CPU, and by the clock on the wall. The first step is not timed.
fn timed(engine: &mut Engine) -> Outcome<(f64, f64)> {
    std::thread::sleep(SETTLING);
    engine.step()?;
    let (cpu, wall) = (sys::process_cpu_ns(), sys::monotonic_ns());
    for _ in 0..STEPS {
        engine.step()?;
    }
    let (cpu, wall) = (sys::process_cpu_ns() - cpu, sys::monotonic_ns() - wall);
    let millis = |ns: u64| ns as f64 / 1e6 / STEPS as f64;
    Ok((millis(cpu), millis(wall)))
}

/// The same, recorded. To begin and to end a recording is not of the steps; what goes on beside them is.
fn recorded(engine: &mut Engine, folder: &Path, answer: &mut Answer) -> Outcome<(f64, f64)> {
    let recorder = Recorder::builder().path(folder.join("engine.spool")).start()?;
    let times = timed(engine)?;
    let stats = recorder.finish()?;
    answer.insert("events".to_owned(), stats.recorded as f64 / (STEPS + 1) as f64);
    Ok(times)
}
