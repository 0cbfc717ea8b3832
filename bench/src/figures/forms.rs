//! Cost of each output format for the whole process until the file is finished.

use ferrum_trace::{counter, instant, span};

use super::against;
use crate::args::Args;
use crate::child::{self, Answer, Job, Task};
use crate::contenders::{Outcome, body, ours};
use crate::rounds::Rounds;
use crate::start::Start;
use crate::sys;
use crate::table::{Cell, Table};

/// Extensions of the path, plain JSON first because every ratio is to it.
const ENDINGS: [&str; 6] = ["json", "json.gz", "json.zst", "pftrace", "pftrace.gz", "spool"];

const STEPS: u64 = 12_000;
const LAYERS: u64 = 20;
/// Events of all steps: layers with their content, and the rest of a step.
const EVENTS: u64 = STEPS * (LAYERS * 5 + 4);

#[derive(Default)]
struct Figures {
    cpu_ns: Rounds,
    finish_s: Rounds,
    finish_cpu_ns: Rounds,
    disk_bytes: Rounds,
}

pub(crate) fn run(args: &Args) -> Outcome<Vec<Table>> {
    let mut figures: [Figures; ENDINGS.len()] = Default::default();
    for _ in 0..args.rounds {
        for (ending, figures) in ENDINGS.iter().zip(&mut figures) {
            measure(ending, figures)?;
        }
    }
    let [base, ..] = &figures;
    let rows = ENDINGS.iter().zip(&figures).map(|(ending, figures)| row(ending, figures, base)).collect();
    Ok(vec![Table {
        title: "Forms".to_owned(),
        note: format!(
            "{EVENTS} events of an engine's thread ({STEPS} steps of {LAYERS} layers: nested spans, most with arguments, counters, \
             instants), then the file is finished. Nanoseconds per event of user and system time of all threads from `main` on, and its \
             ratios to plain JSON; seconds from the last event to the finished file; million events per second of CPU time \
             while finishing (\"per core\"); bytes per event of the file. Medians, of the CPU time also the minimum."
        ),
        columns: vec!["form", "cpu min", "cpu med", "x min", "x med", "finish s", "M events/s per core", "B/event"],
        rows,
    }])
}

fn row(ending: &str, figures: &Figures, base: &Figures) -> Vec<Cell> {
    // A spool needs no finishing.
    let events_per_s = figures.finish_cpu_ns.median().filter(|_| ending != "spool").map(|ns| 1e3 / ns);
    let mut row = vec![Cell::text(format!(".{ending}"))];
    row.extend(against(&figures.cpu_ns, &base.cpu_ns, 1));
    row.push(Cell::maybe(figures.finish_s.median(), 3));
    row.push(events_per_s.map_or(Cell::Absent("-"), |number| Cell::number(number, 2)));
    row.push(Cell::maybe(figures.disk_bytes.median(), 1));
    row
}

fn measure(ending: &str, figures: &mut Figures) -> Outcome {
    let scratch = tempfile::tempdir()?;
    let answer = Job { dir: scratch.path().to_owned(), ..Job::new(Task::Forms, ending) }.run()?;
    figures.cpu_ns.push(answer["cpu_ns"]);
    figures.finish_s.push(answer["finish_s"]);
    figures.finish_cpu_ns.push(answer["finish_cpu_ns"]);
    let size = std::fs::metadata(scratch.path().join(format!("trace.{ending}")))?.len();
    figures.disk_bytes.push(size as f64 / EVENTS as f64);
    Ok(())
}

pub(crate) fn child(job: &Job, start: Start) -> Outcome {
    ours::start(&job.dir.join(format!("trace.{}", job.contender)))?;
    record();
    let (recorded_ns, recorded_cpu_ns) = (sys::monotonic_ns(), sys::process_cpu_ns());
    ours::verify(EVENTS)?;
    let (finished_ns, cpu_ns) = (sys::monotonic_ns(), sys::process_cpu_ns());
    let per_event = |ns: u64| ns as f64 / EVENTS as f64;
    child::print_answer(&Answer::from([
        ("cpu_ns".to_owned(), per_event(cpu_ns - start.cpu_ns)),
        ("finish_s".to_owned(), (finished_ns - recorded_ns) as f64 / 1e9),
        ("finish_cpu_ns".to_owned(), per_event(cpu_ns - recorded_cpu_ns)),
    ]))?;
    sys::exit_now()
}

/// Records the probes of an engine's thread.
fn record() {
    for step in 0..STEPS {
        let _step = span!("step", "engine", step, phase = "decode", batch = 8 + step % 7);
        for layer in 0..LAYERS {
            let _layer = span!("layer", "layer", layer);
            op(|| span!("rms_norm", "norm"));
            op(|| span!("attention", "attention", layer, context = 100 + step));
            op(|| span!("rms_norm", "norm"));
            op(|| span!("mlp", "gemm", layer, tokens = 8_u32));
        }
        counter!("kv_cache", used = step % 1000, free = 1000 - step % 1000);
        instant!("token", "engine", step);
        op(|| span!("sample", "sampling", temperature = 0.7));
    }
}

/// Records one operation.
#[inline(always)]
fn op<S>(begin: impl FnOnce() -> S) {
    let _span = begin();
    body();
}
