//! Cost of a slice for consecutive operations that share their clock reads.

use super::against;
use crate::args::Args;
use crate::child::{self, Answer, Job, Task};
use crate::contenders::{Contender as _, FLOOR, Outcome, Work, ours};
use crate::rounds::Rounds;
use crate::sys;
use crate::table::{Cell, Table};

const LAYERS: u64 = 125_000;
const WARM_UP_LAYERS: u64 = 4_000;

/// Every mark has a different name.
const DISTINCT: &str = "distinct";
/// Two marks of a layer have the same name.
const REPEATED: &str = "repeated";

pub(crate) fn run(args: &Args) -> Outcome<Vec<Table>> {
    let (mut floor, mut laps, mut repeated) = (Rounds::default(), Rounds::default(), Rounds::default());
    for _ in 0..args.rounds {
        floor.push(measure(FLOOR.name())?);
        laps.push(measure(DISTINCT)?);
        repeated.push(measure(REPEATED)?);
    }
    let per_slice = laps.iter().map(|ns| ns * ours::MARKS as f64 / (ours::MARKS + 1) as f64).collect();
    let row = |name: &str, rounds: &Rounds| [vec![Cell::text(name)], against(rounds, &floor, 1).to_vec()].concat();
    Ok(vec![Table {
        title: "Laps".to_owned(),
        note: format!(
            "Nanoseconds of CPU, 1 thread, outer slices of {} marks each. Per mark charges the outer slice to its marks; \
             per slice counts it as one more.",
            ours::MARKS
        ),
        columns: vec!["what", "ns min", "ns med", "x min", "x med"],
        rows: vec![
            row("floor, per span", &floor),
            row("laps!, per mark", &laps),
            row("laps!, per slice", &per_slice),
            row("laps!, per mark, one name twice", &repeated),
        ],
    }])
}

fn measure(contender: &str) -> Outcome<f64> {
    let scratch = tempfile::tempdir()?;
    Ok(Job { dir: scratch.path().to_owned(), ..Job::new(Task::Laps, contender) }.run()?["cpu_ns"])
}

pub(crate) fn child(job: &Job) -> Outcome {
    let spans = Work { spans: LAYERS * ours::MARKS, args: false };
    let cpu_ns = if job.contender == FLOOR.name() {
        FLOOR.record(Work { spans: WARM_UP_LAYERS, ..spans });
        timed(|| FLOOR.record(spans))
    } else {
        let laps = if job.contender == REPEATED { ours::run_laps_with_repeated_name } else { ours::run_laps };
        ours::start(&job.dir.join("laps.spool"))?;
        laps(WARM_UP_LAYERS);
        let cpu_ns = timed(|| laps(LAYERS));
        ours::verify((LAYERS + WARM_UP_LAYERS) * (ours::MARKS + 1))?;
        cpu_ns
    };
    child::print_answer(&Answer::from([("cpu_ns".to_owned(), cpu_ns / spans.spans as f64)]))?;
    sys::exit_now()
}

fn timed(work: impl FnOnce()) -> f64 {
    let before = sys::thread_cpu_ns();
    work();
    (sys::thread_cpu_ns() - before) as f64
}
