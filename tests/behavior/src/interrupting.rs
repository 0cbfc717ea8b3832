//! Scenes with signal handlers that record, at any point of the program.
//!
//! There are two ways to interrupt: a stream of signals from another thread, and the processor's single-step trap,
//! which stops before every instruction.

use crate::sys::{
    Ending, Fork, SIGPROF, SIGTRAP, SIGUSR1, SIGUSR2, exit_at_once, fork, on_signal, send_to_thread, set_alarm,
    set_profiling_timer, set_trap_flag, step_through, this_thread, wait_for,
};
use crate::work::record;
use crate::{Scene, report};
use ferrum_trace::{
    Recorder, Span, Timestamp, Track, async_begin, async_end, async_span, complete_at, counter, finish, flush, instant,
    laps, set_thread_name, span, stats,
};
use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

pub(crate) const SCENES: &[Scene] = &[
    ("interrupt-every-instruction", interrupt_every_instruction),
    ("interrupt-the-first-record", interrupt_the_first_record),
    ("interrupt-the-end-of-a-thread", interrupt_the_end_of_a_thread),
    ("storm", storm_on_recording),
    ("storm-of-two-signals", storm_of_two_signals),
    ("storm-on-flushes", storm_on_flushes),
    ("storm-on-flushes-by-new-names", storm_on_flushes_by_new_names),
    ("storm-on-allocations", storm_on_allocations),
    ("storm-on-forks", || storm_on_forks(true)),
    ("storm-on-forks-and-first-records", || storm_on_forks(false)),
    ("storm-on-restarts", storm_on_restarts),
    ("timer", timer),
];

/// Events that handlers have recorded or tried to record.
pub(crate) static HANDLED: AtomicU64 = AtomicU64::new(0);

/// Number of signals whose handlers have begun.
static DELIVERED: AtomicU64 = AtomicU64::new(0);

/// Time limit of a scene in seconds.
pub(crate) const ALARM: u32 = 100;

pub(crate) extern "C" fn record_span(_signal: i32) {
    DELIVERED.fetch_add(1, Ordering::Relaxed);
    HANDLED.fetch_add(1, Ordering::Relaxed);
    let _span = span!("handler");
}

extern "C" fn record_all_kinds(_signal: i32) {
    DELIVERED.fetch_add(1, Ordering::Relaxed);
    HANDLED.fetch_add(5, Ordering::Relaxed);
    let _outer = span!("handler", text = "longer than a word", n = 1);
    let _inner = span!("handler", n = 1);
    instant!("handler");
    counter!("handler", n = 1);
    drop(Span::dynamic("handler", "dynamic"));
}

/// Reports the counts. Nothing may be recorded after this.
pub(crate) fn report_counts(n_work: u64) {
    let stats = finish().unwrap();
    report!("work {n_work}");
    report!("handled {}", HANDLED.load(Ordering::Relaxed));
    report!("recorded {}", stats.recorded);
    report!("dropped {}", stats.dropped);
}

/// Stops the signals, also on a panic.
struct StopInDrop<'a>(&'a AtomicBool);

impl Drop for StopInDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `work` while another thread sends signals to this one, each as soon as the handler of the last has begun and
/// this thread has made some progress: otherwise a fast sender would leave it no time.
fn with_storm(signals: &[i32], work: impl FnOnce()) {
    let target = this_thread();
    let stop = AtomicBool::new(false);
    let is_stopped = || stop.load(Ordering::Relaxed);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0u64.. {
                let before = DELIVERED.load(Ordering::Relaxed);
                signals.iter().for_each(|&signal| send_to_thread(target, signal));
                while !is_stopped() && DELIVERED.load(Ordering::Relaxed) == before {
                    std::hint::spin_loop();
                }
                // A different pause each time.
                let pause = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 57;
                (0..pause).for_each(|_| std::hint::spin_loop());
                if is_stopped() {
                    break;
                }
            }
        });
        let stop_in_drop = StopInDrop(&stop);
        work();
        drop(stop_in_drop);
    });
}

/// Records every kind of event with the name `work`. Returns the number of events.
fn record_everything(n: u64) -> u64 {
    drop(span!("work"));
    drop(span!("work", n, m = n));
    drop(span!("work", text = "longer than a word", n));
    drop(span!("work", a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7));
    drop(Span::dynamic("work", "dynamic"));
    instant!("work", n);
    counter!("work", n);
    async_begin!("work", "async", n);
    async_end!("work", "async", n);
    drop(async_span!("work"));
    {
        let _outer = span!("work", n);
        let _inner = span!("work");
    }
    {
        // The inner span outlives the outer one.
        let outer = span!("work");
        let _inner = span!("work");
        drop(outer);
    }
    {
        let mut laps = laps!("work", n);
        laps.mark("work");
        laps.mark("work");
    }
    complete_at!(Track::new("a track"), Timestamp::now(), Timestamp::now(), "work", "track");
    19
}

fn interrupt_every_instruction() {
    set_alarm(ALARM);
    on_signal(SIGTRAP, record_span);
    // Not interrupted: registering sites is the subject of other scenes.
    let mut n_work = record_everything(0);
    drop(span!("handler"));
    n_work += 1;
    let stepped = step_through(|| {
        for n in 1..=2 {
            n_work += record_everything(n);
        }
    });
    report!("stepped {stepped}");
    // One of the events has the name of the handler's events.
    report_counts(n_work);
}

/// Interrupts a thread and call sites that have not recorded yet.
fn interrupt_the_first_record() {
    set_alarm(ALARM);
    on_signal(SIGTRAP, record_span);
    record(1, 1);
    let mut n_work = 1;
    let work = || {
        let mut n_here = 0;
        // Not before `record_everything` has begun, so that the handler is not the first to record.
        report!("stepped {}", step_through(|| n_here = record_everything(1)));
        n_here
    };
    n_work += std::thread::spawn(work).join().unwrap();
    report_counts(n_work);
}

/// Stops the stepping when its thread ends, after all destructors that were registered later.
struct StopsInDrop(Cell<bool>);

impl Drop for StopsInDrop {
    fn drop(&mut self) {
        set_trap_flag(false);
    }
}

thread_local! {
    static STOPS_IN_DROP: StopsInDrop = const { StopsInDrop(Cell::new(false)) };
}

fn interrupt_the_end_of_a_thread() {
    set_alarm(ALARM);
    on_signal(SIGTRAP, record_span);
    drop(span!("handler"));
    let mut n_work = 1;
    for n in 1..=5 {
        let work = move || {
            STOPS_IN_DROP.with(|local| local.0.set(true));
            record(1, n);
            set_trap_flag(true);
        };
        std::thread::spawn(work).join().unwrap();
        n_work += n;
    }
    report!("stepped {}", cfg!(target_arch = "x86_64"));
    report_counts(n_work);
}

/// Number of events after which a scene ends.
const ENOUGH: u64 = 5000;

/// Returns true if handlers have recorded enough. Waits for them if `n_work` is large, because the test must read all
/// events.
fn is_enough(n_work: u64) -> bool {
    while n_work > 1000 + 10 * HANDLED.load(Ordering::Relaxed) {
        std::thread::yield_now();
    }
    HANDLED.load(Ordering::Relaxed) >= ENOUGH
}

fn storm_on_recording() {
    set_alarm(ALARM);
    on_signal(SIGUSR1, record_span);
    let mut n_work = record_everything(0);
    drop(span!("handler"));
    n_work += 1;
    with_storm(&[SIGUSR1], || {
        while !is_enough(n_work) {
            n_work += record_everything(1);
        }
    });
    report_counts(n_work);
}

/// The handler of one signal may interrupt the handler of the other.
fn storm_of_two_signals() {
    set_alarm(ALARM);
    on_signal(SIGUSR1, record_span);
    on_signal(SIGUSR2, record_all_kinds);
    let mut n_work = record_everything(0);
    record_span(0);
    record_all_kinds(0);
    with_storm(&[SIGUSR1, SIGUSR2], || {
        while !is_enough(n_work) {
            n_work += record_everything(1);
        }
    });
    report_counts(n_work);
}

/// This thread holds locks of the recorder.
fn storm_on_flushes() {
    set_alarm(ALARM);
    on_signal(SIGUSR1, record_all_kinds);
    record_all_kinds(0);
    let mut n_work = 0;
    with_storm(&[SIGUSR1], || {
        while !is_enough(n_work) {
            n_work += record_everything(1);
            flush().unwrap();
            assert!(stats().is_some());
            set_thread_name("stormy");
        }
    });
    report_counts(n_work);
}

/// Records with a name that no handler has used before.
fn record_new_name() {
    const LETTERS: &str =
        "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrs";
    let n = HANDLED.fetch_add(1, Ordering::Relaxed) as usize;
    // Built without allocating.
    let (from, len) = (n % 26, 2 + n / 26 % 70);
    let category = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"][n / 26 / 70 % 12];
    drop(Span::dynamic(&LETTERS[from..from + len], category));
}

extern "C" fn record_with_new_name(_signal: i32) {
    DELIVERED.fetch_add(1, Ordering::Relaxed);
    record_new_name();
}

fn storm_on_flushes_by_new_names() {
    set_alarm(ALARM);
    on_signal(SIGUSR1, record_with_new_name);
    record_new_name();
    let mut n_work = 0;
    with_storm(&[SIGUSR1], || {
        while !is_enough(n_work) {
            n_work += record_everything(1);
            flush().unwrap();
            assert!(stats().is_some());
            set_thread_name("stormy");
        }
    });
    report_counts(n_work);
}

/// This thread holds the allocator's locks when the handler runs, also when the handler needs a new chunk.
fn storm_on_allocations() {
    set_alarm(ALARM);
    on_signal(SIGUSR1, record_all_kinds);
    record_all_kinds(0);
    let mut n_work = 0;
    with_storm(&[SIGUSR1], || {
        while !is_enough(n_work) {
            for size in [24, 700, 5000, 40_000] {
                let first = black_box(vec![0u8; size]);
                let second = black_box(vec![0u8; size]);
                drop(first);
                drop(second);
            }
            n_work += record_everything(1);
        }
    });
    report_counts(n_work);
}

/// Locks of the recorder are held across a fork. Each fork is on a new thread, where the handler may be the first to
/// record.
fn storm_on_forks(is_known: bool) {
    set_alarm(ALARM);
    on_signal(SIGUSR1, record_span);
    drop(span!("handler"));
    let mut n_work = 1;
    let round = move || {
        let n_before = if is_known { record_everything(1) } else { 0 };
        let mut child = 0;
        with_storm(&[SIGUSR1], || match fork() {
            Fork::Child => exit_at_once(0),
            Fork::Parent { child: it } => child = it,
        });
        assert_eq!(wait_for(child), Ending::Code(0));
        n_before + record_everything(1)
    };
    for _ in 0..50 {
        n_work += std::thread::spawn(round).join().unwrap();
    }
    report_counts(n_work);
}

/// The interrupted thread ends the recording and begins another.
fn storm_on_restarts() {
    set_alarm(ALARM);
    on_signal(SIGUSR1, record_all_kinds);
    let folder = std::env::current_dir().unwrap();
    with_storm(&[SIGUSR1], || {
        for n in 0..20 {
            let path = folder.join(format!("again.{n}.json"));
            let recorder = Recorder::builder().path(path).start().unwrap();
            record(1, 100);
            recorder.flush().unwrap();
            record(101, 200);
            let stats = recorder.finish().unwrap();
            report!("again {n} {}", stats.recorded);
        }
    });
}

/// The kernel's profiling signal, on any thread that computes.
fn timer() {
    set_alarm(ALARM);
    on_signal(SIGPROF, record_span);
    record(1, 1);
    drop(span!("handler"));
    let n_work = AtomicU64::new(2);
    set_profiling_timer(Duration::from_micros(100));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut n_here = 0;
                while HANDLED.load(Ordering::Relaxed) < 20 {
                    n_here += record_everything(1);
                    (0..2000).for_each(|n| _ = black_box(n));
                }
                n_work.fetch_add(n_here, Ordering::Relaxed);
            });
        }
    });
    set_profiling_timer(Duration::ZERO);
    report_counts(n_work.into_inner());
}
