//! Speed of the conversion from spool to finished JSON, compared with `serde_json` writing the same events.

use std::fs::File;
use std::io::{BufWriter, Write as _};

use serde::Serialize;

use crate::args::Args;
use crate::child::{self, Answer, Job, Task};
use crate::contenders::{Contender as _, Outcome, Work, ours};
use crate::rounds::Rounds;
use crate::sys;
use crate::table::{Cell, Table};

const EVENTS: u64 = 4_000_000;
const MOST_ROUNDS: u32 = 5;

/// Events per second of wall time, and per second of CPU time.
#[derive(Default)]
struct Speed {
    wall: Rounds,
    cpu: Rounds,
}

pub(crate) fn run(args: &Args) -> Outcome<Vec<Table>> {
    let scratch = tempfile::tempdir()?;
    let job = |task, threads| Job {
        threads,
        spans: EVENTS,
        dir: scratch.path().to_owned(),
        ..Job::new(task, ours::SPOOL.name())
    };
    job(Task::Spool, 1).run()?;
    let tasks = [
        ("ferrum-trace, 1 thread", job(Task::Convert, 1)),
        ("ferrum-trace, 2 threads", job(Task::Convert, 2)),
        ("serde_json, 1 thread", job(Task::Serde, 1)),
    ];
    let mut speeds = [Speed::default(), Speed::default(), Speed::default()];
    for _ in 0..args.rounds.min(MOST_ROUNDS) {
        for ((_, job), speed) in tasks.iter().zip(&mut speeds) {
            let answer = job.run()?;
            speed.wall.push(answer["events"] / answer["wall_s"] / 1e6);
            speed.cpu.push(answer["events"] / answer["cpu_s"] / 1e6);
        }
    }
    let rows = tasks.iter().zip(&speeds).map(|((name, _), speed)| {
        vec![
            Cell::text(*name),
            Cell::maybe(speed.wall.max(), 2),
            Cell::maybe(speed.wall.median(), 2),
            Cell::maybe(speed.cpu.max(), 2),
            Cell::maybe(speed.cpu.median(), 2),
        ]
    });
    Ok(vec![Table {
        title: "Convert".to_owned(),
        note: format!(
            "{EVENTS} spans from the spool to a finished JSON file, and the same events from memory by serde_json. \
             Million events per second of wall time, and per second of CPU time of all threads (per core); the best \
             round and the median."
        ),
        columns: vec!["writer", "M/s best", "M/s med", "M/s/core best", "M/s/core med"],
        rows: rows.collect(),
    }])
}

/// Records the spool for the other children.
pub(crate) fn spool_child(job: &Job) -> Outcome {
    ours::SPOOL.start(&job.dir, job.work())?;
    ours::SPOOL.record(Work { spans: job.spans, args: false });
    ours::SPOOL.finish(&job.dir)?;
    child::print_answer(&Answer::new())
}

pub(crate) fn child(job: &Job) -> Outcome {
    let spool = ours::spool_in(&job.dir)?.ok_or("expected a spool, found none")?;
    let out = job.dir.join("converted.json");
    let threads = job.threads;
    timed(move || {
        let events = ours::convert(&spool, &out, threads)?;
        std::fs::remove_file(&out)?;
        Ok(events)
    })
}

/// The fields of an event as in the original engine, borrowed so that only the writing is measured.
#[derive(Serialize)]
struct Event {
    name: &'static str,
    cat: &'static str,
    ph: &'static str,
    ts: f64,
    dur: f64,
    pid: u32,
    tid: u32,
}

pub(crate) fn serde_child(job: &Job) -> Outcome {
    let events: Vec<Event> = (0..job.spans).map(event).collect();
    let out = job.dir.join("serde.json");
    timed(move || {
        let mut file = BufWriter::with_capacity(1 << 20, File::create(&out)?);
        serde_json::to_writer(&mut file, &events)?;
        file.flush()?;
        std::fs::remove_file(&out)?;
        Ok(events.len() as u64)
    })
}

/// 40 ns apart and 12 ns long, in microseconds with three decimals like ours.
fn event(idx: u64) -> Event {
    let ts = (idx * 40) as f64 / 1e3;
    Event { name: "rms_norm", cat: "norm", ph: "X", ts, dur: 0.012, pid: 4242, tid: 4242 }
}

fn timed(work: impl FnOnce() -> Outcome<u64>) -> Outcome {
    let (began, cpu_before) = (sys::monotonic_ns(), sys::process_cpu_ns());
    let events = work()?;
    let (ended, cpu_after) = (sys::monotonic_ns(), sys::process_cpu_ns());
    child::print_answer(&Answer::from([
        ("events".to_owned(), events as f64),
        ("wall_s".to_owned(), (ended - began) as f64 / 1e9),
        ("cpu_s".to_owned(), (cpu_after - cpu_before) as f64 / 1e9),
    ]))
}
