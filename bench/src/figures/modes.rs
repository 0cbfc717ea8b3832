//! Cost of a call site in each mode in which a program may run for weeks.

use std::path::Path;
use std::time::Duration;

use ferrum_trace::llm::{self, Phase, Step};
use ferrum_trace::{Recorder, RecorderBuilder, Trigger, Window, control, span};

use super::against;
use crate::args::Args;
use crate::child::{self, Answer, Job, Task};
use crate::contenders::{Contender as _, FLOOR, Outcome, SITES, Work, body, sixteen};
use crate::rounds::Rounds;
use crate::sys;
use crate::table::{Cell, Table};

/// Number of recorded events.
const EVENTS: u64 = 4_000_000;
/// Number of events that are not recorded: they take a tenth of a nanosecond each.
const NON_EVENTS: u64 = 64_000_000;
const WARM_UP: u64 = 100_000;
/// Small enough that each chunk is reused many times.
const RING_BYTES: u64 = 4 << 20;

const PAUSED: &str = "span, paused";

/// A mode: how the recorder is started (`None`: not at all), and the measured call.
struct Mode {
    name: &'static str,
    start: fn(RecorderBuilder) -> Option<RecorderBuilder>,
    call: fn(u64),
    calls: u64,
}

const MODES: [Mode; 10] = [
    Mode { name: "span, off", start: |_| None, call: spans, calls: NON_EVENTS },
    Mode { name: "span, outside its window", start: outside, call: spans, calls: NON_EVENTS },
    Mode { name: PAUSED, start: Some, call: spans, calls: NON_EVENTS },
    Mode { name: "span, its category left out", start: without_norm, call: spans, calls: EVENTS },
    Mode { name: "span, another category left out", start: without_memory, call: spans, calls: EVENTS },
    Mode { name: "span, on", start: Some, call: spans, calls: EVENTS },
    Mode { name: "span, flight recorder", start: ring, call: spans, calls: EVENTS },
    Mode { name: "step, off", start: |_| None, call: steps, calls: EVENTS },
    Mode { name: "step, flight recorder", start: ring, call: steps, calls: EVENTS },
    Mode { name: "step, flight recorder with triggers", start: triggers, call: steps, calls: EVENTS },
];

fn outside(builder: RecorderBuilder) -> Option<RecorderBuilder> {
    Some(builder.window(Window::default().steps(1_000_000..)))
}

fn without_norm(builder: RecorderBuilder) -> Option<RecorderBuilder> {
    Some(builder.categories("-norm".parse().ok()?))
}

fn without_memory(builder: RecorderBuilder) -> Option<RecorderBuilder> {
    Some(builder.categories("-memory".parse().ok()?))
}

fn ring(builder: RecorderBuilder) -> Option<RecorderBuilder> {
    Some(builder.ring(RING_BYTES))
}

/// Triggers that never fire.
fn triggers(builder: RecorderBuilder) -> Option<RecorderBuilder> {
    let slow: Trigger = "step>1h".parse().ok()?;
    let slower: Trigger = "step>1000000xp99".parse().ok()?;
    Some(builder.ring(RING_BYTES).trigger(slow).trigger(slower))
}

fn spans(calls: u64) {
    for _ in 0..calls / SITES {
        sixteen!({
            let _span = span!("rms_norm", "norm");
            body();
        });
    }
}

fn steps(calls: u64) {
    for n in 0..calls {
        let context_tokens = n as usize;
        let step = Step { phase: Phase::Decode, batch: 8, prefill_tokens: 0, decode_tokens: 8, context_tokens };
        let _step = llm::step(step);
        body();
    }
}

pub(crate) fn run(args: &Args) -> Outcome<Vec<Table>> {
    let mut floor = Rounds::default();
    let mut rounds = vec![Rounds::default(); MODES.len()];
    for _ in 0..args.rounds {
        floor.push(measure(FLOOR.name(), EVENTS)?);
        for (mode, rounds) in MODES.iter().zip(&mut rounds) {
            rounds.push(measure(mode.name, mode.calls)?);
        }
    }
    let rows = std::iter::once((FLOOR.name(), &floor)).chain(MODES.iter().map(|mode| mode.name).zip(&rounds));
    let row = |(name, rounds)| [Cell::text(name)].into_iter().chain(against(rounds, &floor, 2)).collect();
    Ok(vec![Table {
        title: "Modes".to_owned(),
        note: "Nanoseconds of CPU of the thread per call, 1 thread. The floor is two reads of the cycle counter and a store. A step has five \
               arguments; the triggers are `step>1h` and `step>1000000xp99`, which look at each step and never fire."
            .to_owned(),
        columns: vec!["mode", "ns min", "ns med", "x min", "x med"],
        rows: rows.map(row).collect(),
    }])
}

fn measure(name: &str, calls: u64) -> Outcome<f64> {
    let scratch = tempfile::tempdir()?;
    let job = Job { spans: calls, dir: scratch.path().to_owned(), ..Job::new(Task::Modes, name) };
    Ok(job.run()?["cpu_ns"])
}

pub(crate) fn child(job: &Job) -> Outcome {
    let mode = MODES.iter().find(|mode| mode.name == job.contender);
    if let Some(mode) = mode {
        start(mode, &job.dir)?;
    }
    let call = |calls| match mode {
        Some(mode) => (mode.call)(calls),
        None => FLOOR.record(Work { spans: calls, args: false }),
    };
    call(WARM_UP);
    let before = sys::thread_cpu_ns();
    call(job.spans);
    let elapsed = sys::thread_cpu_ns() - before;
    child::print_answer(&Answer::from([("cpu_ns".to_owned(), elapsed as f64 / job.spans as f64)]))?;
    sys::exit_now()
}

fn start(mode: &Mode, dir: &Path) -> Outcome {
    let Some(builder) = (mode.start)(Recorder::builder().path(dir.join("modes.spool"))) else {
        return Ok(());
    };
    builder.start()?;
    if mode.name == PAUSED {
        control::pause()?;
    }
    // Wait until the first chunks are prepared.
    std::thread::sleep(Duration::from_millis(5));
    Ok(())
}
