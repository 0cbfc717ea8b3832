//! Pauses of a decoding thread while a large recording is written.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ferrum_trace::llm::{self, Phase, Step};
use ferrum_trace::{DumpLimits, Recorder, control, span};

use crate::args::Args;
use crate::child::{self, Answer, Job, Task};
use crate::contenders::Outcome;
use crate::rounds::Rounds;
use crate::sched_trace::{Displacement, SchedTrace};
use crate::sys;
use crate::table::{Cell, Table};

/// Recorded before anything is written.
const EVENTS: u64 = 50_000_000;
const RECORDERS: u64 = 2;
/// Size of the ring that `dump` writes.
const RING_BYTES: u64 = 256 << 20;

const LAYERS: u64 = 10;
const LAYER_NS: u64 = 10_000;
/// A pause that an engine would notice.
const LONG_NS: u64 = 1_000_000;
/// Interval of checks for the file.
const NAP: Duration = Duration::from_millis(5);

/// Name of the measured thread in the kernel's tracing.
pub(super) const DECODER: &str = "decoder";
/// Shorter pauses are not attributed to a cause.
const NOTED_NS: u64 = 50_000;

const WAYS: [&str; 3] = ["stop", "flush", "dump"];

pub(crate) fn run(args: &Args) -> Outcome<Vec<Table>> {
    let mut rows = Vec::new();
    for way in WAYS {
        let answers = (0..args.rounds).map(|_| measure(way)).collect::<Outcome<Vec<Answer>>>()?;
        for (stretch, words) in [("while", "while it is written"), ("quiet", "as long, nothing is written")] {
            rows.push(row(way, stretch, words, &answers));
        }
    }
    Ok(vec![Table {
        title: "Stopping".to_owned(),
        note: format!(
            "Milliseconds. A thread decodes without a rest, {LAYERS} layers of {} us a step, and reads the clock all the time; \
             a pause is the time between two reads. Others have recorded {} million spans before; then `control::stop`, \
             `control::flush`, or `dump` of a ring of {} MiB is called. Waits: how often the thread slept for a lock or a page, \
             all rounds. The last four columns are the longest pauses by who had its processor for most of it, as the kernel's \
             tracing tells (it takes root): the program itself with the recorder's threads; threads of the kernel that work on \
             files, memory and interrupts; other programs and monitors of the machine; nobody, so that interrupts or the host of \
             the virtual machine took the time.",
            LAYER_NS / 1000,
            EVENTS / 1_000_000,
            RING_BYTES >> 20,
        ),
        columns: vec![
            "call",
            "stretch",
            "seconds med",
            "pause min",
            "pause med",
            "pause max",
            "over 1 ms",
            "waits",
            "by us",
            "by kernel",
            "by others",
            "by nobody",
        ],
        rows,
    }])
}

fn row(way: &str, stretch: &str, words: &str, answers: &[Answer]) -> Vec<Cell> {
    let rounds = |key: &str| {
        let key = format!("{stretch}_{key}");
        answers.iter().filter_map(|answer| answer.get(&key).copied()).collect::<Rounds>()
    };
    let millis = |value: Option<f64>| Cell::maybe(value.map(|ns| ns / 1e6), 3);
    let total = |key: &str| Cell::number(rounds(key).iter().sum(), 0);
    let pauses = rounds("pause_ns");
    let mut row = vec![
        Cell::text(way),
        Cell::text(words),
        Cell::maybe(rounds("ns").median().map(|ns| ns / 1e9), 1),
        millis(pauses.min()),
        millis(pauses.median()),
        millis(pauses.max()),
        total("n_long"),
        total("n_waits"),
    ];
    row.extend(Taker::ALL.map(|taker| millis(rounds(taker.key()).max())));
    row
}

fn measure(way: &str) -> Outcome<Answer> {
    let scratch = tempfile::tempdir()?;
    let answer = Job { dir: scratch.path().to_owned(), ..Job::new(Task::Stopping, way) }.run()?;
    let millis = |key: &str| answer[key] / 1e6;
    let (pause, quiet, seconds) = (millis("while_pause_ns"), millis("quiet_pause_ns"), millis("while_ns") / 1e3);
    crate::print_message(&format!("{way}: {seconds:.1} s, longest pause {pause:.3} ms, without writing {quiet:.3} ms"));
    Ok(answer)
}

pub(crate) fn child(job: &Job) -> Outcome {
    let path = job.dir.join("stopping.json");
    start(&path, &job.contender)?;
    record_much();
    let trace = SchedTrace::start();
    let decoder = Decoder::start();
    thread::sleep(NAP);
    let begin_ns = sys::monotonic_ns();
    decoder.enter(Stretch::While);
    let file = write(&path, &job.contender)?;
    decoder.enter(Stretch::Between);
    let wrote_ns = sys::monotonic_ns() - begin_ns;
    // Pending writes of the kernel would disturb the quiet phase.
    std::fs::File::open(&file)?.sync_all()?;
    decoder.enter(Stretch::Quiet);
    thread::sleep(Duration::from_nanos(wrote_ns));
    decoder.enter(Stretch::Over);
    let [_, written, _, quiet] = decoder.join()?;
    let mut answer = Answer::from([("while_ns".to_owned(), wrote_ns as f64), ("quiet_ns".to_owned(), wrote_ns as f64)]);
    let displacements = trace.and_then(|trace| trace.displacements_of(DECODER));
    written.add_to("while", displacements.as_deref(), &mut answer);
    quiet.add_to("quiet", displacements.as_deref(), &mut answer);
    child::print_answer(&answer)?;
    sys::exit_now()
}

fn start(path: &Path, way: &str) -> Outcome {
    let recorder = Recorder::builder().path(path);
    let recorder = match way {
        "dump" => recorder.ring(RING_BYTES).dumps(DumpLimits { after: Duration::ZERO, ..DumpLimits::default() }),
        _ => recorder,
    };
    recorder.start()?;
    Ok(())
}

fn record_much() {
    thread::scope(|scope| {
        for _ in 0..RECORDERS {
            scope.spawn(|| (0..EVENTS / RECORDERS).for_each(|_| drop(span!("gemm", "gemm"))));
        }
    });
}

/// Makes the measured call, and returns when its file is complete.
fn write(path: &Path, way: &str) -> Outcome<PathBuf> {
    match way {
        "stop" => {
            let recorded = control::stop()?.wait()?.recorded;
            if recorded < EVENTS {
                return Err(format!("expected {EVENTS} events in the file, found {recorded}").into());
            }
        }
        "flush" => control::flush()?.wait()?,
        _ => {
            if !ferrum_trace::dump("measured") {
                return Err("the dump was refused".into());
            }
            let dumped = path.with_file_name("stopping.dump-001.json");
            while !dumped.exists() {
                thread::sleep(NAP);
            }
            return Ok(dumped);
        }
    }
    Ok(path.to_owned())
}

/// Phases of a measurement, in order.
#[derive(Debug, Clone, Copy)]
enum Stretch {
    Before,
    While,
    Between,
    Quiet,
    Over,
}

/// The measured thread.
struct Decoder {
    stretch: Arc<AtomicUsize>,
    thread: JoinHandle<[Pauses; Stretch::Over as usize]>,
}

impl Decoder {
    fn start() -> Self {
        let stretch = Arc::new(AtomicUsize::new(Stretch::Before as usize));
        let seen = Arc::clone(&stretch);
        let thread = thread::Builder::new().name(DECODER.to_owned()).spawn(move || decode(&seen));
        Self { stretch, thread: thread.expect("a thread can be started") }
    }

    fn enter(&self, stretch: Stretch) {
        self.stretch.store(stretch as usize, Ordering::SeqCst);
    }

    fn join(self) -> Outcome<[Pauses; Stretch::Over as usize]> {
        self.thread.join().map_err(|_| "the decoding thread panicked".into())
    }
}

/// Decodes step by step until the last phase. A pause counts for the phases in which it begins and ends.
fn decode(stretch: &AtomicUsize) -> [Pauses; Stretch::Over as usize] {
    let mut all: [Pauses; Stretch::Over as usize] = Default::default();
    let mut reading = Reading::now(stretch);
    loop {
        let step = Step { phase: Phase::Decode, batch: 1, prefill_tokens: 0, decode_tokens: 1, context_tokens: 1 };
        let _step = llm::step(step);
        for layer in 0..LAYERS {
            let _layer = span!("layer", "layer", layer);
            let end_ns = reading.ns + LAYER_NS;
            while reading.ns < end_ns {
                let next = Reading::now(stretch);
                all[reading.stretch].add(&reading, &next);
                if next.stretch != reading.stretch {
                    all[reading.stretch].end();
                    let Some(entered) = all.get_mut(next.stretch) else {
                        return all;
                    };
                    entered.add(&reading, &next);
                    entered.begin();
                }
                reading = next;
            }
        }
    }
}

struct Reading {
    stretch: usize,
    ns: u64,
}

impl Reading {
    fn now(stretch: &AtomicUsize) -> Self {
        Self { stretch: stretch.load(Ordering::SeqCst), ns: sys::monotonic_ns() }
    }
}

/// Pauses of the thread in one phase.
#[derive(Debug, Default)]
pub(super) struct Pauses {
    longest_ns: u64,
    n_long: u64,
    n_waits: u64,
    /// Begins and ends.
    long_pauses: Vec<(u64, u64)>,
}

impl Pauses {
    fn add(&mut self, before: &Reading, after: &Reading) {
        self.note(before.ns, after.ns);
    }

    /// Adds the time between two readings of the clock.
    pub(super) fn note(&mut self, before_ns: u64, after_ns: u64) {
        let pause_ns = after_ns - before_ns;
        self.longest_ns = self.longest_ns.max(pause_ns);
        self.n_long += u64::from(pause_ns > LONG_NS);
        if pause_ns > NOTED_NS {
            self.long_pauses.push((before_ns, after_ns));
        }
    }

    /// Stores the count at the begin of the phase; the end replaces it with the difference.
    fn begin(&mut self) {
        self.n_waits = sys::thread_waits();
    }

    fn end(&mut self) {
        self.n_waits = sys::thread_waits() - self.n_waits;
    }

    pub(super) fn add_to(&self, stretch: &str, displacements: Option<&[Displacement]>, answer: &mut Answer) {
        let figures = [("pause_ns", self.longest_ns), ("n_long", self.n_long), ("n_waits", self.n_waits)];
        answer.extend(figures.map(|(key, value)| (format!("{stretch}_{key}"), value as f64)));
        let Some(displacements) = displacements else { return };
        for taker in Taker::ALL {
            let of_taker = self.long_pauses.iter().filter(|&&pause| Taker::of(pause, displacements) == taker);
            let longest_ns = of_taker.map(|(begin_ns, end_ns)| end_ns - begin_ns).max().unwrap_or(0);
            answer.insert(format!("{stretch}_{}", taker.key()), longest_ns as f64);
        }
    }
}

/// The cause of a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taker {
    Us,
    Kernel,
    Others,
    Nobody,
}

impl Taker {
    const ALL: [Self; 4] = [Self::Us, Self::Kernel, Self::Others, Self::Nobody];

    /// The cause of a pause: the thread whose displacement takes most of it.
    fn of((begin_ns, end_ns): (u64, u64), displacements: &[Displacement]) -> Self {
        let shared_ns = |other: &Displacement| other.end_ns.min(end_ns).saturating_sub(other.start_ns.max(begin_ns));
        let longest = displacements.iter().max_by_key(|displacement| shared_ns(displacement));
        match longest.filter(|longest| 2 * shared_ns(longest) > end_ns - begin_ns) {
            Some(longest) => Self::by_name(&longest.by),
            None => Self::Nobody,
        }
    }

    /// The cause by thread name. Ours are the threads of the recorder and of this program.
    fn by_name(name: &str) -> Self {
        const KERNEL: [&str; 9] =
            ["kworker", "ksoftirqd", "jbd2", "kswapd", "kcompactd", "kblockd", "migration", "rcu", "swapper"];
        let is_of = |kinds: &[&str]| kinds.iter().any(|kind| name.starts_with(kind));
        if is_of(&["ferrum-trace", "bench"]) {
            Self::Us
        } else if is_of(&KERNEL) {
            Self::Kernel
        } else {
            Self::Others
        }
    }

    fn key(self) -> &'static str {
        match self {
            Self::Us => "by_us_ns",
            Self::Kernel => "by_kernel_ns",
            Self::Others => "by_others_ns",
            Self::Nobody => "by_nobody_ns",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_of_a_pause_is_the_longest_displacement() {
        let displacement =
            |start_ns, end_ns, by: &str| Displacement { start_ns, end_ns, by: by.to_owned(), by_recorder_ns: 0 };
        let displacements = [
            displacement(100, 200, "kworker/u8:0"),
            displacement(300, 400, "ferrum-trace-wr"),
            displacement(500, 540, "kdamond.0"),
        ];
        let takers = [(90, 210), (290, 390), (450, 550), (495, 545)].map(|pause| Taker::of(pause, &displacements));
        assert_eq!(takers, [Taker::Kernel, Taker::Us, Taker::Nobody, Taker::Others]);
    }
}
