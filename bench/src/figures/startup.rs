//! Delay of a program that switches recording on and records nothing.

use std::process::Child;

use crate::args::Args;
use crate::child::{self, Answer, Job, Task, first_answer};
use crate::contenders::{Outcome, ours};
use crate::rounds::Rounds;
use crate::start::Start;
use crate::sys;
use crate::table::{Cell, Table};

/// Repetitions per round; an empty process is fast.
const REPETITIONS: u32 = 8;

/// The file of each mode; empty if recording stays off.
const MODES: [(&str, &str); 3] = [("off", ""), ("on, .spool", "idle.spool"), ("on, .json", "idle.json")];

pub(crate) fn run(args: &Args) -> Outcome<Vec<Table>> {
    let mut from_main = [Rounds::default(), Rounds::default(), Rounds::default()];
    let mut from_spawn = [Rounds::default(), Rounds::default(), Rounds::default()];
    for _ in 0..args.rounds * REPETITIONS {
        for (idx, (_, file)) in MODES.iter().enumerate() {
            let (main_ms, spawn_ms) = measure(file)?;
            from_main[idx].push(main_ms);
            from_spawn[idx].push(spawn_ms);
        }
    }
    let delay = |rounds: &[Rounds; 3], idx: usize, pick: fn(&Rounds) -> Option<f64>| {
        let delay = pick(&rounds[idx]).zip(pick(&rounds[0])).map(|(on, off)| on - off);
        Cell::maybe(delay, 3)
    };
    let rows = MODES.iter().enumerate().map(|(idx, (name, _))| {
        vec![
            Cell::text(*name),
            Cell::maybe(from_main[idx].min(), 3),
            Cell::maybe(from_main[idx].median(), 3),
            delay(&from_main, idx, Rounds::min),
            delay(&from_main, idx, Rounds::median),
            Cell::maybe(from_spawn[idx].min(), 3),
            Cell::maybe(from_spawn[idx].median(), 3),
        ]
    });
    Ok(vec![Table {
        title: "Start-up".to_owned(),
        note: format!(
            "Milliseconds of wall time of a process that records nothing, from `main` to its end as the parent sees it, \
             and from its spawning (which includes what linked peers do before `main`). {} repetitions. The delay is \
             against recording off.",
            args.rounds * REPETITIONS
        ),
        columns: vec!["recording", "main min", "main med", "delay min", "delay med", "spawn min", "spawn med"],
        rows: rows.collect(),
    }])
}

fn measure(file: &str) -> Outcome<(f64, f64)> {
    let scratch = tempfile::tempdir()?;
    let job = Job { dir: scratch.path().to_owned(), ..Job::new(Task::Startup, file) };
    let spawned_ns = sys::monotonic_ns();
    let mut child: Child = job.spawn()?;
    let main_ns = first_answer(&mut child)?["main_ns"];
    let status = child.wait()?;
    let ended_ns = sys::monotonic_ns() as f64;
    if !status.success() {
        return Err(format!("a child that records nothing ended with {status}").into());
    }
    Ok(((ended_ns - main_ns) / 1e6, (ended_ns - spawned_ns as f64) / 1e6))
}

/// Starts, reports the time of `main`, and returns from `main`: the recorder's work at exit is part of the delay.
pub(crate) fn child(job: &Job, start: Start) -> Outcome {
    if !job.contender.is_empty() {
        ours::start(&job.dir.join(&job.contender))?;
    }
    child::print_answer(&Answer::from([("main_ns".to_owned(), start.monotonic_ns as f64)]))
}
