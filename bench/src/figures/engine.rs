//! Cost of recording for an engine: decode steps of `examples/engine`, with recording alternately off and on in one
//! process.

use std::path::Path;
use std::time::Duration;

use clap::Parser as _;
use engine::checkpoint;
use engine::engine::Engine;
use engine::flags::Flags;
use engine::sequence::{RequestSpec, Sequence};
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
/// Consecutive steps with recording on, or off.
const STEPS: usize = 4;
/// Number of off-on-off turns in one process.
const TURNS: usize = 40;
/// Time in which the recorder prepares its first chunks. The pause is the same without a recorder, and so is its effect
/// on caches.
const SETTLING: Duration = Duration::from_millis(5);
/// The modes of a turn. The third is the first again: their difference is noise.
const MODES: [&str; 3] = ["off", "on", "off again"];

/// A clock: its name, its description, and the function that reads it.
type Clock = (&'static str, &'static str, fn() -> u64);
const CLOCKS: [Clock; 3] = [
    ("thread", "CPU of the thread that runs the engine, on which all probes are", sys::thread_cpu_ns),
    ("process", "CPU of all threads, the recorder's own included", sys::process_cpu_ns),
    ("wall", "wall time", sys::monotonic_ns),
];

pub(crate) fn run(args: &Args) -> Outcome<Vec<Table>> {
    let mut answers = Vec::new();
    for _ in 0..args.rounds {
        let folder = tempfile::tempdir()?;
        answers.push(Job { dir: folder.path().to_owned(), ..Job::new(Task::Engine, "ferrum-trace") }.run()?);
    }
    Ok(CLOCKS.iter().map(|clock| table(clock, &answers)).collect())
}

fn table(&(clock, what, _): &Clock, answers: &[Answer]) -> Table {
    let turns =
        |mode| answers.iter().flat_map(move |answer| (0..TURNS).map(move |turn| answer[&key(clock, mode, turn)]));
    let base: Vec<f64> = turns(MODES[0]).collect();
    let rows = MODES.iter().map(|mode| {
        let mut row = vec![Cell::text(*mode)];
        row.extend(against(&turns(mode).collect(), &base.iter().copied().collect(), 3));
        let ratios: Rounds = turns(mode).zip(&base).map(|(time, base)| time / base).collect();
        row.push(Cell::maybe(ratios.median(), 4));
        row
    });
    let events = answers.first().map_or(0.0, |answer| answer["events"]);
    Table {
        title: format!("Engine, {clock}"),
        note: format!(
            "Milliseconds per decode step of `examples/engine` ({BATCH} sequences, 8 layers, one thread for products) by {what}. \
             {STEPS} steps off, {STEPS} on, {STEPS} off in turn, in one process. A step records {events:.0} events. `x` is the \
             ratio to off, `paired` the median of the ratios within each turn; `off again` shows how much of these is noise."
        ),
        columns: vec!["recording", "ms min", "ms med", "x min", "x med", "paired"],
        rows: rows.collect(),
    }
}

fn key(clock: &str, mode: &str, turn: usize) -> String {
    format!("{clock} {mode} {turn}")
}

pub(crate) fn child(job: &Job) -> Outcome {
    let mut engine = decoding()?;
    let mut answer = Answer::new();
    for turn in 0..TURNS {
        // Each mode goes first equally often: the context grows from step to step.
        for place in 0..MODES.len() {
            let mode = MODES[(turn + place) % MODES.len()];
            let times = match mode {
                "on" => recorded(&mut engine, &job.dir, &mut answer)?,
                _ => timed(&mut engine)?,
            };
            answer.extend(CLOCKS.iter().zip(times).map(|(&(clock, ..), time)| (key(clock, mode, turn), time)));
        }
    }
    child::print_answer(&answer)?;
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
        engine.add(Sequence::new(RequestSpec { id, prompt, n_tokens_max: n_tokens, seed: id }));
    }
    while engine.step()?.phase != Phase::Decode {}
    Ok(engine)
}

/// Milliseconds per step by each of the clocks. The first step is not timed.
fn timed(engine: &mut Engine) -> Outcome<[f64; 3]> {
    std::thread::sleep(SETTLING);
    engine.step()?;
    let before = CLOCKS.map(|(.., now)| now());
    for _ in 0..STEPS {
        engine.step()?;
    }
    let after = CLOCKS.map(|(.., now)| now());
    Ok([0, 1, 2].map(|clock| (after[clock] - before[clock]) as f64 / 1e6 / STEPS as f64))
}

/// The same with recording. The start and the end of the recording are not measured; concurrent work of the recorder
/// is.
fn recorded(engine: &mut Engine, folder: &Path, answer: &mut Answer) -> Outcome<[f64; 3]> {
    let recorder = Recorder::builder().path(folder.join("engine.spool")).start()?;
    let times = timed(engine)?;
    let stats = recorder.finish()?;
    answer.insert("events".to_owned(), stats.recorded as f64 / (STEPS + 1) as f64);
    Ok(times)
}
