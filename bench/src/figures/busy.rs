//! Losses and delays of background writers while every processor is busy, and what they take from the program.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ferrum_trace::{DumpLimits, Recorder, control, span};

use crate::args::Args;
use crate::child::{self, Answer, Job, Task};
use crate::contenders::Outcome;
use crate::figures::stopping::{DECODER, Pauses};
use crate::rounds::Rounds;
use crate::sched_trace::SchedTrace;
use crate::sys;
use crate::table::{Cell, Table};

/// Spans per second of each busy thread, which does not rest between them.
const RATE: u64 = 100_000;
/// Time that `rotate` records.
const ROTATING: Duration = Duration::from_secs(30);
const PART_BYTES: u64 = 4 << 20;
const LIMIT_BYTES: u64 = 32 << 20;
/// Size of the ring that `dump` writes.
const RING_BYTES: u64 = 64 << 20;
/// Spans that are recorded before `stop`, `flush` and `dump`; more than fit into the ring.
const SPANS_BEFORE: u64 = 5_000_000;
/// A file that takes longer is counted as not written.
const PATIENCE: Duration = Duration::from_secs(90);
/// Interval of checks for the file.
const NAP: Duration = Duration::from_millis(20);

const WAYS: [&str; 4] = ["rotate", "stop", "flush", "dump"];
/// A job's name is the way, a space, and one of these.
const USERS: [&str; 2] = ["root", "user"];

pub(crate) fn run(args: &Args) -> Outcome<Vec<Table>> {
    let mut rows = Vec::new();
    for way in WAYS {
        for user in USERS {
            let answers = (0..args.rounds).map(|_| measure(way, user)).collect::<Outcome<Vec<Answer>>>()?;
            rows.push(row(way, user, &answers));
        }
    }
    let n_threads = n_busy();
    Ok(vec![Table {
        title: "Busy processors".to_owned(),
        note: format!(
            "{n_threads} threads, one per processor, record {RATE} spans per second each and never rest. `rotate` records \
             for {} s into parts of {} MiB with a limit of {} MiB; the others record {} million spans before, then call \
             `control::stop`, `control::flush`, or `dump` of a ring of {} MiB. Seconds: from the call to the complete file \
             (`rotate`: from the last span to the last file); a file that is not there after {} s counts as unwritten. CPU: of \
             all threads but the busy ones, while that lasts, as a share of one processor. Pause: the longest one of one \
             busy thread in milliseconds, whatever the reason; by us: the longest time in one pause for which threads of the \
             recorder had its processor, and the number of those over a millisecond per second, as the kernel's tracing \
             tells. `user`: the threads run as a user without privileges, who cannot raise a priority.",
            ROTATING.as_secs(),
            PART_BYTES >> 20,
            LIMIT_BYTES >> 20,
            SPANS_BEFORE / 1_000_000,
            RING_BYTES >> 20,
            PATIENCE.as_secs(),
        ),
        columns: vec![
            "call",
            "as",
            "recorded",
            "lost med",
            "lost max",
            "unwritten",
            "seconds med",
            "seconds max",
            "CPU med",
            "pause med",
            "by us med",
            "by us max",
            "us over 1 ms",
        ],
        rows,
    }])
}

fn row(way: &str, user: &str, answers: &[Answer]) -> Vec<Cell> {
    let rounds = |key: &str| answers.iter().filter_map(|answer| answer.get(key).copied()).collect::<Rounds>();
    let millis = |value: Option<f64>| Cell::maybe(value.map(|ns| ns / 1e6), 3);
    let seconds = rounds("seconds");
    let by_us = rounds("by_us_ns");
    vec![
        Cell::text(way),
        Cell::text(user),
        Cell::maybe(rounds("recorded").median(), 0),
        Cell::maybe(rounds("lost").median(), 0),
        Cell::maybe(rounds("lost").max(), 0),
        Cell::number(rounds("unwritten").iter().sum(), 0),
        Cell::maybe(seconds.median(), 1),
        Cell::maybe(seconds.max(), 1),
        Cell::maybe(rounds("cpu").median(), 3),
        millis(rounds("pause_pause_ns").median()),
        millis(by_us.median()),
        millis(by_us.max()),
        Cell::maybe(rounds("us_long_per_s").median(), 1),
    ]
}

fn measure(way: &str, user: &str) -> Outcome<Answer> {
    let scratch = tempfile::tempdir()?;
    sys::let_all_write(scratch.path())?;
    let job = format!("{way} {user}");
    let answer = Job { dir: scratch.path().to_owned(), ..Job::new(Task::Busy, &job) }.run()?;
    let [lost, seconds] = ["lost", "seconds"].map(|key| answer.get(key).copied().unwrap_or(0.0));
    crate::print_message(&format!("{job}: {lost} lost, {seconds:.1} s"));
    Ok(answer)
}

/// The main thread keeps its privileges, which the kernel's tracing needs; all others run as `user`.
pub(crate) fn child(job: &Job) -> Outcome {
    let (way, user) = job.contender.split_once(' ').ok_or("expected a way and a user")?;
    let (way, path) = (way.to_owned(), job.dir.join("busy.json"));
    let is_user = user == "user";
    let trace = SchedTrace::start();
    let work = move || {
        if is_user {
            sys::drop_privileges_of_thread()?;
        }
        record(&way, &path).map_err(|error| std::io::Error::other(error.to_string()))
    };
    let worked = thread::spawn(work).join().map_err(|_| "the measurement panicked")??;
    let displacements = trace.and_then(|trace| trace.displacements_of(DECODER));
    let Measured { mut answer, pauses } = worked;
    pauses.add_to("pause", None, &mut answer);
    if let Some(displacements) = displacements {
        let by_us = || displacements.iter().map(|displacement| displacement.by_recorder_ns);
        let n_long = by_us().filter(|&ns| ns > 1_000_000).count();
        answer.insert("by_us_ns".to_owned(), by_us().max().unwrap_or(0) as f64);
        answer.insert("us_long_per_s".to_owned(), n_long as f64 / answer["measured"]);
    }
    child::print_answer(&answer)?;
    sys::exit_now()
}

struct Measured {
    answer: Answer,
    pauses: Pauses,
}

fn record(way: &str, path: &Path) -> Outcome<Measured> {
    let recorder = Recorder::builder().path(path);
    let recorder = match way {
        "rotate" => recorder.rotate(PART_BYTES).limit(LIMIT_BYTES),
        "dump" => recorder.ring(RING_BYTES).dumps(DumpLimits { after: Duration::ZERO, ..DumpLimits::default() }),
        _ => recorder,
    };
    let recording = recorder.start()?;
    if way != "rotate" {
        (0..SPANS_BEFORE).for_each(|_| drop(span!("gemm", "gemm")));
    }
    let busy = Busy::start();
    let (begin_ns, cpu_before_ns) = (sys::monotonic_ns(), sys::process_cpu_ns());
    let mut answer = Answer::new();
    let written = match way {
        "rotate" => {
            thread::sleep(ROTATING);
            true
        }
        "stop" => within_patience(|| control::stop().and_then(control::Writing::wait).is_ok()),
        "flush" => within_patience(|| control::flush().and_then(control::Writing::wait).is_ok()),
        _ => {
            let dumped = path.with_file_name("busy.dump-001.json");
            ferrum_trace::dump("measured") && within_patience(move || wait_for(&dumped))
        }
    };
    let measured_ns = sys::monotonic_ns() - begin_ns;
    let (pauses, busy_cpu_ns) = busy.end()?;
    let cpu_ns = (sys::process_cpu_ns() - cpu_before_ns).saturating_sub(busy_cpu_ns);
    answer.insert("measured".to_owned(), measured_ns as f64 / 1e9);
    answer.insert("cpu".to_owned(), cpu_ns as f64 / measured_ns as f64);
    answer.insert("unwritten".to_owned(), f64::from(u8::from(!written)));
    if way == "rotate" {
        let begin_ns = sys::monotonic_ns();
        let stats = recording.finish()?;
        answer.insert("seconds".to_owned(), (sys::monotonic_ns() - begin_ns) as f64 / 1e9);
        answer.insert("recorded".to_owned(), stats.recorded as f64);
        answer.insert("lost".to_owned(), stats.dropped as f64);
    } else if written {
        answer.insert("seconds".to_owned(), measured_ns as f64 / 1e9);
    }
    Ok(Measured { answer, pauses })
}

/// Runs `work` on another thread. Returns false if it fails or takes longer than [`PATIENCE`].
fn within_patience(work: impl FnOnce() -> bool + Send + 'static) -> bool {
    let (done, is_done) = std::sync::mpsc::channel();
    thread::spawn(move || done.send(work()));
    is_done.recv_timeout(PATIENCE).unwrap_or(false)
}

fn wait_for(file: &Path) -> bool {
    while !file.exists() {
        thread::sleep(NAP);
    }
    true
}

fn n_busy() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// The busy threads, one per processor. The first one is measured.
struct Busy {
    is_over: Arc<AtomicBool>,
    threads: Vec<thread::JoinHandle<(Pauses, u64)>>,
}

impl Busy {
    fn start() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let start = |n: usize| {
            let is_over = Arc::clone(&is_over);
            let name = if n == 0 { DECODER.to_owned() } else { format!("sampler {n}") };
            let thread = thread::Builder::new().name(name).spawn(move || stay_busy(&is_over));
            thread.expect("a thread can be started")
        };
        let threads = (0..n_busy()).map(start).collect();
        Self { is_over, threads }
    }

    /// Returns the pauses of the measured thread, and the CPU time of all.
    fn end(self) -> Outcome<(Pauses, u64)> {
        self.is_over.store(true, Ordering::Relaxed);
        let mut ended = Vec::new();
        for thread in self.threads {
            ended.push(thread.join().map_err(|_| "a busy thread panicked")?);
        }
        let cpu_ns = ended.iter().map(|(_, cpu_ns)| cpu_ns).sum();
        Ok((ended.swap_remove(0).0, cpu_ns))
    }
}

/// Records at [`RATE`] and reads the clock all the time.
fn stay_busy(is_over: &AtomicBool) -> (Pauses, u64) {
    let cpu_before_ns = sys::thread_cpu_ns();
    let mut pauses = Pauses::default();
    let mut now_ns = sys::monotonic_ns();
    let mut end_ns = now_ns;
    while !is_over.load(Ordering::Relaxed) {
        let _span = span!("gemm", "gemm");
        // A thread that was displaced catches up.
        end_ns += 1_000_000_000 / RATE;
        while now_ns < end_ns {
            let next_ns = sys::monotonic_ns();
            pauses.note(now_ns, next_ns);
            now_ns = next_ns;
        }
    }
    (pauses, sys::thread_cpu_ns() - cpu_before_ns)
}
