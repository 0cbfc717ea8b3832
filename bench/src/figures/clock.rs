//! Deviation of our clock from `CLOCK_MONOTONIC` over ten seconds.

use std::time::Duration;

use serde_json::Value;

use crate::args::Args;
use crate::child::{self, Answer, Job, Task};
use crate::contenders::{Contender as _, Outcome, ours};
use crate::sys;
use crate::table::{Cell, Table};

const SECONDS: u64 = 10;
const MARKS_PER_SECOND: u64 = 1000;
/// Marks during which the thread lost its core are not used.
const WIDEST_NS: u64 = 2_000;

/// A time in the file and the monotonic clock's reading, both in microseconds.
struct Mark {
    monotonic_us: f64,
    file_us: f64,
}

pub(crate) fn run(_args: &Args) -> Outcome<Vec<Table>> {
    let scratch = tempfile::tempdir()?;
    let job = Job { dir: scratch.path().to_owned(), ..Job::new(Task::Clock, ours::SPOOL.name()) };
    let answer = job.run()?;
    let marks = marks(&serde_json::from_slice(&std::fs::read(scratch.path().join("clock.json"))?)?)?;
    let offsets: Vec<f64> = marks.iter().map(|mark| mark.file_us - mark.monotonic_us).collect();
    let middle = crate::rounds::Rounds::from_iter(offsets.iter().copied()).median();
    let strayed = middle.and_then(|middle| offsets.iter().map(|offset| (offset - middle).abs()).reduce(f64::max));
    let drift = offsets.first().zip(offsets.last()).map(|(first, last)| last - first);
    Ok(vec![Table {
        title: "Clock".to_owned(),
        note: format!(
            "Instants over {SECONDS} s, each with the monotonic clock's reading as an argument; microseconds by which \
             the file's `ts` deviates from it after subtracting the constant offset. {} marks were left out \
             because recording them took longer than {WIDEST_NS} ns.",
            answer["left_out"]
        ),
        columns: vec!["marks", "largest us", "first to last us", "slope ppm"],
        rows: vec![vec![
            Cell::number(marks.len() as f64, 0),
            Cell::maybe(strayed, 3),
            Cell::maybe(drift, 3),
            Cell::maybe(slope(&marks).map(|slope| slope * 1e6), 4),
        ]],
    }])
}

/// Records marks at a steady rate, with a reading before and after each; a wide pair is marked by its argument.
pub(crate) fn child(job: &Job) -> Outcome {
    ours::start(&job.dir.join("clock.json"))?;
    let mut left_out = 0;
    for _ in 0..SECONDS * MARKS_PER_SECOND {
        let before = sys::monotonic_ns();
        ours::clock_mark(before);
        let after = sys::monotonic_ns();
        if after - before > WIDEST_NS {
            left_out += 1;
            ours::clock_mark_spoiled(before);
        }
        std::thread::sleep(Duration::from_nanos(1_000_000_000 / MARKS_PER_SECOND));
    }
    ours::finish()?;
    child::print_answer(&Answer::from([("left_out".to_owned(), f64::from(left_out))]))
}

/// The instants of the file, without disturbed ones.
fn marks(file: &Value) -> Outcome<Vec<Mark>> {
    let events = file.as_array().ok_or("expected an array of events")?;
    let reading = |event: &Value| event["args"]["monotonic_ns"].as_u64();
    let named = |name: &'static str| events.iter().filter(move |event| event["name"] == name);
    let spoiled: std::collections::HashSet<u64> = named("spoiled").filter_map(reading).collect();
    let whole = named("clock").filter_map(|event| Some((reading(event)?, event["ts"].as_f64()?)));
    let kept: Vec<(u64, f64)> = whole.filter(|(monotonic_ns, _)| !spoiled.contains(monotonic_ns)).collect();
    let origin = kept.first().ok_or("no instants in the file")?.0;
    Ok(kept
        .iter()
        // Relative to the first mark, so that an `f64` keeps the nanoseconds.
        .map(|(monotonic_ns, file_us)| Mark { monotonic_us: (monotonic_ns - origin) as f64 / 1e3, file_us: *file_us })
        .collect())
}

/// Least squares of the offset over time: the drift between the two clocks.
fn slope(marks: &[Mark]) -> Option<f64> {
    let n = marks.len() as f64;
    let mean_x = marks.iter().map(|mark| mark.monotonic_us).sum::<f64>() / n;
    let mean_y = marks.iter().map(|mark| mark.file_us - mark.monotonic_us).sum::<f64>() / n;
    let (mut covariance, mut variance) = (0.0, 0.0);
    for mark in marks {
        let x = mark.monotonic_us - mean_x;
        covariance += x * (mark.file_us - mark.monotonic_us - mean_y);
        variance += x * x;
    }
    (variance > 0.0).then(|| covariance / variance)
}
