//! Scenes that end by themselves, in every possible way.

use crate::sys::{SharedCounters, at_exit};
use crate::work::{Pace, Workers, counters, record, slow_start};
use crate::{Scene, report};
use ferrum_trace::{Span, control, counter, instant, span};
use std::cell::Cell;
use std::sync::OnceLock;
use std::thread::Builder;
use std::time::Duration;

pub(crate) const SCENES: &[Scene] = &[
    ("return", return_from_main),
    ("exit", || exit_with_code(3)),
    ("exit-on-another-thread", exit_on_another_thread),
    ("exit-on-two-threads", exit_on_two_threads),
    ("panic", panic_on_main),
    ("panic-on-another-thread", panic_on_another_thread),
    ("threads-still-running", threads_still_running),
    ("threads-ended", threads_ended),
    ("threads-at-once", threads_at_once),
    ("many-threads", many_threads),
    ("thread-locals", thread_locals),
    ("thread-locals-only", thread_locals_only),
    ("exit-handlers", exit_handlers),
    ("exit-handlers-after-exit", exit_handlers_after_exit),
    ("busy-stop", || busy(|| drop(control::stop().unwrap()))),
    ("busy-flush", || busy(|| drop(control::flush().unwrap()))),
    ("busy-dump", || busy(dump_and_wait_for_its_file)),
];

/// Ends while all processors are busy, so that a thread of low priority hardly runs, just after such a thread has been
/// given something to write.
fn busy(write: fn()) {
    record(1, 20_000);
    let n_processors = std::thread::available_parallelism().map_or(1, usize::from);
    for _ in 0..4 * n_processors {
        std::thread::spawn(|| {
            loop {
                std::hint::spin_loop();
            }
        });
    }
    write();
}

fn dump_and_wait_for_its_file() {
    assert!(ferrum_trace::dump("busy"));
    let is_there = |ending: &str| std::path::Path::new(&format!("trace.dump-001.json{ending}")).exists();
    while !is_there(".next") && !is_there("") {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn return_from_main() {
    let _whole = span!("whole");
    record(1, 100);
}

fn exit_with_code(code: i32) -> ! {
    let _never_dropped = span!("never dropped");
    record(1, 100);
    std::process::exit(code);
}

fn exit_on_another_thread() {
    record(1, 50);
    let exit = || {
        record(51, 100);
        std::process::exit(3);
    };
    let _ = std::thread::spawn(exit).join();
}

/// Either thread may win. (The standard library blocks the other one.)
fn exit_on_two_threads() {
    record(1, 100);
    let threads: Vec<_> = (0..2).map(|_| std::thread::spawn(|| std::process::exit(3))).collect();
    for thread in threads {
        let _ = thread.join();
    }
}

fn panic_on_main() {
    record(1, 100);
    let _unwound = span!("unwound");
    panic!("a planned panic");
}

fn panic_on_another_thread() {
    let panics = || {
        record(1, 100);
        let _unwound = span!("unwound");
        panic!("a planned panic");
    };
    assert!(Builder::new().name("panics".into()).spawn(panics).unwrap().join().is_err());
    record(101, 200);
}

fn threads_still_running() {
    let workers = Workers::ready(4, Pace::Full);
    workers.go();
    workers.wait_for_more(1);
    report!("done {:?}", workers.counters.all());
    // The threads continue while the file is written.
    std::mem::forget(workers);
}

fn threads_ended() {
    for n in 0..100 {
        let work = move || record(10 * n + 1, 10 * n + 10);
        Builder::new().name(format!("gone {n}")).spawn(work).unwrap().join().unwrap();
    }
}

/// One thread starts the recorder, which takes a while here; others record meanwhile.
fn threads_at_once() {
    let lease = slow_start();
    std::thread::scope(|scope| {
        for n in 0..4 {
            scope.spawn(move || record(1000 * n + 1, 1000 * n + 1000));
        }
        // Their progress cannot be observed: the first opens the file, the others wait for it.
        std::thread::sleep(Duration::from_millis(100));
        drop(lease);
    });
}

fn many_threads() {
    const THREADS: u64 = 5000;
    const AT_A_TIME: u64 = 10;
    assert!(ferrum_trace::is_on());
    for first in (0..THREADS).step_by(AT_A_TIME as usize) {
        std::thread::scope(|scope| {
            for n in first..first + AT_A_TIME {
                scope.spawn(move || record(3 * n + 1, 3 * n + 3));
            }
        });
    }
    let stats = ferrum_trace::stats().unwrap();
    report!("threads {}", stats.threads);
    report!("bytes {}", stats.bytes);
}

static ATTEMPTS: OnceLock<SharedCounters> = OnceLock::new();

/// Records all kinds of events, and counts them.
fn record_late() {
    let attempt = |record: fn()| {
        ATTEMPTS.get_or_init(|| counters(1)).add_one(0);
        record();
    };
    attempt(|| drop(span!("late", n = 1)));
    attempt(|| drop(span!("late", text = "longer than a word")));
    attempt(|| drop(Span::dynamic("late", "dynamic")));
    attempt(|| instant!("late"));
    attempt(|| counter!("late", n = 1));
}

/// Records when its thread ends.
struct RecordsInDrop(Cell<bool>);

impl Drop for RecordsInDrop {
    fn drop(&mut self) {
        record_late();
    }
}

thread_local! {
    static FIRST: RecordsInDrop = const { RecordsInDrop(Cell::new(false)) };
    static LAST: RecordsInDrop = const { RecordsInDrop(Cell::new(false)) };
}

/// Destructors run in reverse order of first use: one before and one after those of the recorder.
fn record_between_thread_locals() {
    FIRST.with(|local| local.0.set(true));
    record(1, 10);
    LAST.with(|local| local.0.set(true));
}

fn thread_locals() {
    record_between_thread_locals();
    for _ in 0..10 {
        let threads: Vec<_> = (0..10).map(|_| std::thread::spawn(record_between_thread_locals)).collect();
        // Unlike the end of a scope, this also waits for the destructors.
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

/// Threads that record only in a destructor.
fn thread_locals_only() {
    for _ in 0..50 {
        std::thread::spawn(|| FIRST.with(|local| local.0.set(true))).join().unwrap();
    }
    FIRST.with(|local| local.0.set(true));
}

extern "C" fn records_at_exit() {
    record_late();
}

fn exit_handlers() {
    at_exit(records_at_exit);
    record(1, 10);
    at_exit(records_at_exit);
}

fn exit_handlers_after_exit() {
    exit_handlers();
    FIRST.with(|local| local.0.set(true));
    let exits = || {
        FIRST.with(|local| local.0.set(true));
        std::process::exit(0);
    };
    let _ = std::thread::spawn(exits).join();
}
