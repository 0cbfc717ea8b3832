//! Scenes with signal handlers that interrupt the allocator and record something for the first time, which must not
//! allocate.

use crate::interrupting::{ALARM, HANDLED, record_span, report_counts};
use crate::sys::{SIGPROF, SIGTRAP, allocate_and_free, on_signal, set_alarm, set_profiling_timer, step_through};
use crate::{Scene, report};
use ferrum_trace::{Recorder, Span, span};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub(crate) const SCENES: &[Scene] = &[
    ("first-record-amid-allocation", first_record),
    ("first-sites-amid-allocation", || on_known_thread(2, record_at_new_site_at_one_step)),
    ("first-names-amid-allocation", || on_known_thread(2, record_new_name_at_one_step)),
    ("new-chunks-amid-allocation", || on_known_thread(29, fill_chunks_at_one_step)),
    ("first-record-in-next-recording-amid-allocation", first_record_in_next_recording),
    ("timer-on-allocations", timer),
];

/// Large enough for the allocator to take its lock.
const LARGE: usize = 5000;

macro_rules! site {
    () => {
        || drop(span!("new site", "sites", n = 1))
    };
}

macro_rules! eight {
    ($item:ident) => {
        [$item!(), $item!(), $item!(), $item!(), $item!(), $item!(), $item!(), $item!()]
    };
}

macro_rules! eight_sites {
    () => {
        eight!(site)
    };
}

macro_rules! sixty_four_sites {
    () => {
        eight!(eight_sites)
    };
}

/// Functions that record one event each, at a call site of their own.
type Eight = [fn(); 8];

static SITES: [[Eight; 8]; 8] = eight!(sixty_four_sites);

/// Records at a call site that has not recorded before, for the first 512 calls.
fn record_at_new_site() {
    let n = HANDLED.fetch_add(1, Ordering::Relaxed) as usize;
    SITES[n / 64 % 8][n / 8 % 8][n % 8]();
}

/// Records with a name that was not used before, for the first 676 calls.
fn record_new_name() {
    const NAMES: &str = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz";
    let n = HANDLED.fetch_add(1, Ordering::Relaxed) as usize;
    let from = n % 26;
    // Built without allocating.
    drop(Span::dynamic(&NAMES[from..from + 1 + n / 26 % 26], "names"));
}

/// Records more than fits into the chunks that are prepared at the start.
fn fill_chunks() {
    for n in 0..4000 {
        HANDLED.fetch_add(1, Ordering::Relaxed);
        drop(span!("filling", n));
    }
}

/// The step of the current thread at which its handler records, and the number of steps so far.
static RECORD_AT: AtomicU64 = AtomicU64::new(0);
static STEPS: AtomicU64 = AtomicU64::new(0);

fn at_one_step(record: impl Fn()) {
    if STEPS.fetch_add(1, Ordering::Relaxed) == RECORD_AT.load(Ordering::Relaxed) {
        record();
    }
}

extern "C" fn record_at_one_step(_signal: i32) {
    at_one_step(|| record_span(0));
}

extern "C" fn record_at_new_site_at_one_step(_signal: i32) {
    at_one_step(record_at_new_site);
}

extern "C" fn record_new_name_at_one_step(_signal: i32) {
    at_one_step(record_new_name);
}

extern "C" fn fill_chunks_at_one_step(_signal: i32) {
    at_one_step(fill_chunks);
}

/// Calls `round` for every `stride`th instruction of an allocation, so that the handler records there. The allocator
/// holds its lock for many instructions.
fn at_each_step(stride: u64, round: impl Fn() -> bool) {
    let mut stepped = true;
    for step in (0..).step_by(stride as usize) {
        RECORD_AT.store(step, Ordering::Relaxed);
        STEPS.store(0, Ordering::Relaxed);
        stepped &= round();
        if STEPS.load(Ordering::Relaxed) <= step {
            break;
        }
    }
    report!("stepped {stepped}");
}

/// Threads that allocate and record only one event, in a handler.
fn first_record() {
    set_alarm(ALARM);
    on_signal(SIGTRAP, record_at_one_step);
    drop(span!("handler"));
    at_each_step(3, || std::thread::spawn(|| step_through(|| allocate_and_free(LARGE))).join().unwrap());
    report_counts(1);
}

/// A thread that has recorded before, and records something new in a handler.
fn on_known_thread(stride: u64, handler: extern "C" fn(i32)) {
    set_alarm(ALARM);
    on_signal(SIGTRAP, handler);
    // The allocator takes no lock before there is a second thread.
    let work = move || {
        drop(span!("known"));
        at_each_step(stride, || step_through(|| allocate_and_free(LARGE)));
    };
    std::thread::spawn(work).join().unwrap();
    report_counts(1);
}

/// A thread whose first event in a recording comes from a handler, after events in an earlier recording.
fn first_record_in_next_recording() {
    set_alarm(ALARM);
    on_signal(SIGTRAP, record_at_one_step);
    let round = |n: u64| Recorder::builder().path(format!("{n}.spool")).start().unwrap();
    let work = move || {
        let mut n = 0;
        let mut stepped = true;
        for step in (0..).step_by(17) {
            let recorder = round(n);
            RECORD_AT.store(step, Ordering::Relaxed);
            STEPS.store(0, Ordering::Relaxed);
            stepped &= step_through(|| allocate_and_free(LARGE));
            let is_over = STEPS.load(Ordering::Relaxed) <= step;
            let stats = recorder.finish().unwrap();
            assert_eq!(stats.recorded + stats.dropped, u64::from(!is_over));
            if is_over {
                break;
            }
            n += 1;
        }
        report!("stepped {stepped}");
        report!("recordings {n}");
    };
    std::thread::spawn(work).join().unwrap();
}

/// Threads that allocate all the time, and a timer whose handler records at a new call site and with a new name.
fn timer() {
    extern "C" fn record_new(_signal: i32) {
        record_at_new_site();
        record_new_name();
    }
    set_alarm(ALARM);
    on_signal(SIGPROF, record_new);
    drop(span!("known"));
    set_profiling_timer(Duration::from_micros(100));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while HANDLED.load(Ordering::Relaxed) < 100 {
                    (0..1000).for_each(|_| allocate_and_free(LARGE));
                }
            });
        }
    });
    set_profiling_timer(Duration::ZERO);
    report_counts(1);
}
