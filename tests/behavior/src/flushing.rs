//! Scenes that flush repeatedly.

use crate::sys::SharedCounters;
use crate::work::{Pace, Workers, counters, record, wait_for_test};
use crate::{Scene, report};
use ferrum_trace::{flush, instant, span, stats};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) const SCENES: &[Scene] = &[
    ("flush-from-many", flush_from_many),
    ("flush-for-readers", flush_for_readers),
    ("flush-little-after-much", flush_little_after_much),
    ("flush-nothing", flush_nothing),
    ("flush-amid-exits", flush_amid_exits),
    ("flush-and-report", flush_and_report),
    ("ring-and-dump", ring_and_dump),
];

const RECORDERS: u64 = 3;
const FLUSHERS: u64 = 3;
const BATCHES: u64 = 15;
const BATCH: u64 = 100;

fn out() -> PathBuf {
    std::env::var_os("FERRUM_TRACE_OUT").unwrap().into()
}

/// Reads the output, which must exist and be valid.
fn read_out() -> Vec<Value> {
    serde_json::from_slice(&std::fs::read(out()).unwrap()).unwrap()
}

fn has_mark(events: &[Value], n: u64) -> bool {
    events.iter().any(|event| event["name"] == "mark" && event["args"]["n"] == n)
}

/// Threads that record, threads that flush and check the output, and one that watches its size.
fn flush_from_many() {
    assert!(ferrum_trace::is_on());
    flush().unwrap();
    let n_flushes = &AtomicU64::new(0);
    std::thread::scope(|scope| {
        for recorder in 0..RECORDERS {
            scope.spawn(move || {
                for batch in 0..BATCHES {
                    let first = (recorder * BATCHES + batch) * BATCH + 1;
                    record(first, first + BATCH - 1);
                    // Spread over the whole duration of the flushes.
                    while n_flushes.load(Ordering::Relaxed) < batch {
                        std::thread::yield_now();
                    }
                }
            });
        }
        for flusher in 0..FLUSHERS {
            scope.spawn(move || {
                for n in 0..BATCHES / FLUSHERS {
                    let mark = 10 * flusher + n;
                    instant!("mark", n = mark);
                    flush().unwrap();
                    assert!(has_mark(&read_out(), mark), "mark {mark} was recorded before the flush");
                    n_flushes.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        scope.spawn(|| {
            let mut before = 0;
            while n_flushes.load(Ordering::Relaxed) < BATCHES {
                let size = std::fs::metadata(out()).unwrap().len();
                assert!(size >= before, "shrunk from {before} bytes to {size}");
                before = size;
            }
        });
    });
    let stats = stats().unwrap();
    report!("recorded {}", stats.recorded);
    report!("dropped {}", stats.dropped);
}

/// Flushes while the test reads the output from outside, until the test ends it. The last counter is the number of
/// flushes.
fn flush_for_readers() {
    let counters = counters(3);
    assert!(ferrum_trace::is_on());
    let workers = Workers::with_counters(2, Pace::Full, counters);
    report!("ready");
    wait_for_test();
    std::thread::scope(|scope| {
        let flushing = scope.spawn(|| flush_until_stopped(counters));
        workers.go();
        // Enough to check, not too much to read: later flushes have nothing new, and then little.
        workers.wait_for_more(1);
        let done = workers.stop();
        report!("done {done:?}");
        wait_for_test();
        flushing.join().unwrap();
    });
}

fn flush_until_stopped(counters: SharedCounters) {
    for n in 1..=150 {
        {
            let _span = span!("little", n);
        }
        flush().unwrap();
        counters.set(2, n);
    }
}

/// Bytes that this process has read and written so far.
fn bytes_moved() -> (u64, u64) {
    let io = std::fs::read_to_string("/proc/self/io").unwrap();
    let number = |key: &str| io.lines().find_map(|line| line.strip_prefix(key)).unwrap().trim().parse().unwrap();
    (number("rchar:"), number("wchar:"))
}

fn flush_little_after_much() {
    record(1, 1_000_000);
    // The first flush writes everything, twice.
    flush().unwrap();
    for _ in 0..5 {
        record(1, 10);
        let (read_before, written_before) = bytes_moved();
        flush().unwrap();
        let (read, written) = bytes_moved();
        report!("read {}", read - read_before);
        report!("written {}", written - written_before);
    }
}

fn flush_nothing() {
    assert!(ferrum_trace::is_on());
    for _ in 0..3 {
        flush().unwrap();
        assert_eq!(read_out(), Vec::<Value>::new());
    }
    record(1, 10);
    for _ in 0..3 {
        flush().unwrap();
        assert_eq!(read_out().iter().filter(|event| event["name"] == "work").count(), 10);
    }
}

/// Flushes much, and then a little at a time; reports the growth and keeps a copy of each version.
fn flush_and_report() {
    let mut first = 1;
    let mut size = 0;
    for (copy, n) in [("1", 5000), ("2", 10), ("3", 10)] {
        record(first, first + n - 1);
        first += n;
        flush().unwrap();
        std::fs::copy(out(), copy).unwrap();
        let grown = std::fs::metadata(out()).unwrap().len() - size;
        size += grown;
        match copy {
            "1" => report!("grown by much {grown}"),
            "2" => report!("grown by little {grown}"),
            _ => {}
        }
    }
    record(first, first + 9);
}

/// Records more than a ring holds, and dumps it.
fn ring_and_dump() {
    record(1, 100_000);
    assert!(ferrum_trace::dump("requested by the test"));
    record(100_001, 100_100);
}

/// The process ends during flushes on other threads.
fn flush_amid_exits() {
    record(1, 1000);
    for _ in 0..3 {
        std::thread::spawn(|| {
            while flush().is_ok() {
                drop(span!("more"));
            }
        });
    }
    for n in 1..=20 {
        flush().unwrap();
        drop(span!("last", n));
    }
}
