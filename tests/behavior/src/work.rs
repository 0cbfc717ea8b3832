//! Shared by the scenes: threads that record and count their events.

use crate::sys::{Lease, SharedCounters};
use ferrum_trace::span;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// File name of [`counters`].
const COUNTERS: &str = "counters";

/// Creates counters that the test can read.
pub(crate) fn counters(n: usize) -> SharedCounters {
    SharedCounters::create(Path::new(COUNTERS), n)
}

/// Blocks the start of the recorder until the returned value is dropped.
pub(crate) fn slow_start() -> Lease {
    let mut spool = std::env::var_os("FERRUM_TRACE_OUT").unwrap();
    spool.push(".spool");
    Lease::take(File::options().write(true).create(true).truncate(false).open(spool).unwrap())
}

/// Records `work` spans numbered from `first` to `last`.
pub(crate) fn record(first: u64, last: u64) {
    for n in first..=last {
        let _span = span!("work", n);
    }
}

/// Speed of a worker. The test must read all events, however long the scene takes on a busy machine.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Pace {
    /// Without a pause, some million spans per second; slow after some milliseconds.
    Full,
    /// Without a pause.
    Endless,
    /// Some at a time, then a pause.
    Slow,
    /// Some dozens per millisecond, without a pause.
    Steady,
}

impl Pace {
    /// Sleep after the `n`th span.
    fn pause_after(self, n: u64) -> Option<Duration> {
        const FULL_SPANS: u64 = 25_000;
        let (is_due, micros) = match self {
            Self::Full => (n >= FULL_SPANS, 1000),
            Self::Endless => (false, 0),
            Self::Slow => (n.is_multiple_of(10), 100),
            Self::Steady => {
                (0..500).for_each(|_| std::hint::spin_loop());
                (false, 0)
            }
        };
        is_due.then_some(Duration::from_micros(micros))
    }
}

/// Threads named `worker 0` and so on, which record `work` spans numbered from 1.
pub(crate) struct Workers {
    pub counters: SharedCounters,
    orders: Arc<Orders>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Orders {
    go: AtomicBool,
    stop: AtomicBool,
}

impl Workers {
    /// Creates `n` threads that wait for [`go`](Self::go). The recorder has started.
    pub(crate) fn ready(n: usize, pace: Pace) -> Self {
        // The start takes some milliseconds, and is the subject of other scenes.
        assert!(ferrum_trace::is_on());
        Self::with_counters(n, pace, counters(n))
    }

    /// Creates threads with existing counters, whether the recorder has started or not.
    pub(crate) fn with_counters(n: usize, pace: Pace, counters: SharedCounters) -> Self {
        let orders = Arc::new(Orders::default());
        let start = |worker: usize| {
            let orders = Arc::clone(&orders);
            let work = move || {
                while !orders.go.load(Ordering::Relaxed) {
                    std::thread::park();
                }
                let mut n = 0;
                while !orders.stop.load(Ordering::Relaxed) {
                    n += 1;
                    let span = span!("work", n, worker);
                    drop(span);
                    // Only now: the test requires all counted spans.
                    counters.set(worker, n);
                    if let Some(pause) = pace.pause_after(n) {
                        std::thread::sleep(pause);
                    }
                }
            };
            Builder::new().name(format!("worker {worker}")).spawn(work).unwrap()
        };
        Self { counters, threads: (0..n).map(start).collect(), orders }
    }

    /// Lets all threads record.
    pub(crate) fn go(&self) {
        self.orders.go.store(true, Ordering::Relaxed);
        for thread in &self.threads {
            thread.thread().unpark();
        }
    }

    /// Waits until each thread has recorded `n` more spans.
    pub(crate) fn wait_for_more(&self, n: u64) {
        for (worker, before) in self.counters.all().into_iter().enumerate().take(self.threads.len()) {
            while self.counters.get(worker) < before + n {
                std::thread::yield_now();
            }
        }
    }

    /// Ends the threads, and returns the number of spans of each.
    pub(crate) fn stop(self) -> Vec<u64> {
        self.orders.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().unwrap();
        }
        self.counters.all()
    }
}

/// Writes a line for the test.
#[macro_export]
macro_rules! report {
    ($($words:tt)*) => {{
        use std::io::Write;
        // Not `println!`, which panics if the test has closed the pipe.
        let _ = writeln!(std::io::stdout(), $($words)*);
    }};
}

/// Waits until the test writes a line or closes standard input.
pub(crate) fn wait_for_test() {
    let mut line = String::new();
    let _ = std::io::stdin().read_line(&mut line);
}
