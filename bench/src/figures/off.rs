//! Cost of a call site while recording is switched off at run time.

use super::against;
use crate::args::Args;
use crate::child::{self, Answer, Job, Task};
use crate::contenders::Outcome;
use crate::rounds::Rounds;
use crate::sys;
use crate::table::{Cell, Table};

/// Enough calls that a batch takes several scheduler ticks at 0.2 ns each.
const CALLS: u64 = 64_000_000;
/// The original engine's writer takes a mutex even when off.
const WARM_UP: u64 = 1_000_000;

pub(crate) fn run(args: &Args) -> Outcome<Vec<Table>> {
    let contenders: Vec<_> = args.contenders().into_iter().filter(|contender| contender.times_spans()).collect();
    let mut rounds = vec![Rounds::default(); contenders.len()];
    for _ in 0..args.rounds {
        for (contender, rounds) in contenders.iter().zip(&mut rounds) {
            if contender.off().is_some() {
                let job = Job { spans: CALLS, ..Job::new(Task::Off, contender.name()) };
                rounds.push(job.run()?["cpu_ns"]);
            }
        }
    }
    let rows = contenders.iter().zip(&rounds).map(|(contender, times)| {
        let mut row = vec![Cell::text(contender.name())];
        if contender.off().is_some() {
            row.extend(against(times, &rounds[0], 2));
        } else {
            row.extend(std::iter::repeat_n(Cell::Absent("always on"), 4));
        }
        row
    });
    Ok(vec![Table {
        title: "Off".to_owned(),
        note: "Nanoseconds of CPU per call site while recording is off at run time, 1 thread. \
               The floor here is a bare relaxed load and a branch."
            .to_owned(),
        columns: vec!["contender", "ns min", "ns med", "x min", "x med"],
        rows: rows.collect(),
    }])
}

pub(crate) fn child(job: &Job) -> Outcome {
    let off = job.contender()?.off().ok_or("this contender cannot be off")?;
    off(WARM_UP);
    let before = sys::thread_cpu_ns();
    off(job.spans);
    let elapsed = sys::thread_cpu_ns() - before;
    child::print_answer(&Answer::from([("cpu_ns".to_owned(), elapsed as f64 / job.spans as f64)]))?;
    sys::exit_now()
}
