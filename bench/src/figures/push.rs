//! The original engine's interface: `push(&str, &str, f64, u32)`, in a model of the original and in ours.

use std::sync::Barrier;

use super::against;
use crate::args::Args;
use crate::child::{self, Answer, Job, Task};
use crate::contenders::{Contender as _, Outcome, REFERENCE, ReferenceModel, ours};
use crate::rounds::Rounds;
use crate::spelling;
use crate::sys;
use crate::table::{Cell, Table};

const PUSHES: u64 = 300_000;
const WARM_UP: u64 = 10_000;

pub(crate) fn run(args: &Args) -> Outcome<Vec<Table>> {
    [1, 2].into_iter().map(|threads| table(args, threads)).collect()
}

fn table(args: &Args, threads: usize) -> Outcome<Table> {
    let names = [REFERENCE.name(), ours::SPOOL.name()];
    let mut cpu = [Rounds::default(), Rounds::default()];
    let mut wall = [Rounds::default(), Rounds::default()];
    for _ in 0..args.rounds {
        for (idx, name) in names.iter().enumerate() {
            let scratch = tempfile::tempdir()?;
            let job = Job { threads, dir: scratch.path().to_owned(), ..Job::new(Task::Push, name) };
            let answer = job.run()?;
            cpu[idx].push(answer["cpu_ns"]);
            wall[idx].push(answer["wall_ns"]);
        }
    }
    let rows = names.iter().enumerate().map(|(idx, name)| {
        let figures = [against(&cpu[idx], &cpu[0], 1), against(&wall[idx], &wall[0], 1)].concat();
        [vec![Cell::text(*name)], figures].concat()
    });
    Ok(Table {
        title: format!("Push, {threads} thread{}", if threads == 1 { "" } else { "s" }),
        note: "Nanoseconds per `TraceWriter::push(&str, &str, f64, u32)` into one writer, without reading the clock \
               around it. Ratios are to the reference model."
            .to_owned(),
        columns: vec![
            "writer",
            "cpu min",
            "cpu med",
            "x min",
            "x med",
            "wall min",
            "wall med",
            "x wall min",
            "x wall med",
        ],
        rows: rows.collect(),
    })
}

pub(crate) fn child(job: &Job) -> Outcome {
    let path = job.dir.join("pushed.json");
    let (cpu_ns, wall_ns) = if job.contender == REFERENCE.name() {
        let writer = ReferenceModel::enabled(path.clone());
        let times = on_threads(job.threads, |name, category| writer.push(name, category, 0.001, 1));
        writer.flush()?;
        times
    } else {
        let writer = ours::writer(path.clone());
        let times = on_threads(job.threads, |name, category| writer.push(name, category, 0.001, 1));
        writer.flush()?;
        times
    };
    let (pushed, found) = ((PUSHES + WARM_UP) * job.threads as u64, spelling::json_events(&path, "X")?);
    if found != pushed {
        return Err(format!("expected {pushed} events in the file, found {found}").into());
    }
    child::print_answer(&Answer::from([("cpu_ns".to_owned(), cpu_ns), ("wall_ns".to_owned(), wall_ns)]))?;
    sys::exit_now()
}

/// CPU and wall nanoseconds per push of each thread.
fn on_threads(threads: usize, push: impl Fn(&str, &str) + Sync) -> (f64, f64) {
    let line = Barrier::new(threads);
    let one_thread = || {
        let many = |pushes: u64| {
            for _ in 0..pushes {
                // Through a black box, so that the names are not known to the optimizer.
                push(std::hint::black_box("rms_norm"), std::hint::black_box("norm"));
            }
        };
        many(WARM_UP);
        line.wait();
        let (began, cpu_before) = (sys::monotonic_ns(), sys::thread_cpu_ns());
        many(PUSHES);
        let (cpu, ended) = (sys::thread_cpu_ns() - cpu_before, sys::monotonic_ns());
        line.wait();
        (cpu, began, ended)
    };
    let times: Vec<(u64, u64, u64)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(one_thread)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no writer panics")).collect()
    });
    let cpu: u64 = times.iter().map(|(cpu, ..)| cpu).sum();
    let began = times.iter().map(|(_, began, _)| *began).min().unwrap_or_default();
    let ended = times.iter().map(|(.., ended)| *ended).max().unwrap_or_default();
    (cpu as f64 / (PUSHES * threads as u64) as f64, (ended - began) as f64 / PUSHES as f64)
}
