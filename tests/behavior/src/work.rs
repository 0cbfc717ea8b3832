//! What many scenes do: threads that record, and count what they have done.

use crate::sys::{Lease, SharedCounters};
use ferrum_trace::span;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// The name of the file of [`counters`].
const COUNTERS: &str = "counters";

/// Numbers that the test can read.
pub fn counters(n: usize) -> SharedCounters {
    SharedCounters::create(Path::new(COUNTERS), n)
}

/// Makes the start of the recorder wait, until what is returned is dropped.
pub fn slow_start() -> Lease {
    let mut spool = std::env::var_os("FERRUM_TRACE_OUT").unwrap();
    spool.push(".spool");
    Lease::take(File::options().write(true).create(true).truncate(false).open(spool).unwrap())
}

/// Records `work` spans numbered from `first` to `last`.
pub fn record(first: u64, last: u64) {
    for n in first..=last {
        let _span = span!("work", n);
    }
}

/// How much a worker records. The test must read it all, however long a busy machine makes the scene.
#[derive(Clone, Copy, PartialEq)]
pub enum Pace {
    /// Without a pause, some million spans a second. But slowly after some milliseconds of that.
    Full,
    /// Without a pause.
    Endless,
    /// Some at a time, then a pause.
    Slow,
    /// Some dozens a millisecond, without a pause.
    Steady,
}

impl Pace {
    /// How long a worker sleeps after its `n`th span.
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

/// Threads called `worker 0` and so on, which record `work` spans numbered from 1 on.
pub struct Workers {
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
    /// `n` threads that wait for [`go`](Self::go). The recorder has started.
    pub fn ready(n: usize, pace: Pace) -> Self {
        // Starting takes some milliseconds, and is the subject of other scenes.
        assert!(ferrum_trace::is_on());
        Self::with_counters(n, pace, counters(n))
    }

    /// The same with numbers that are there already, and whether the recorder has started or not.
    pub fn with_counters(n: usize, pace: Pace, counters: SharedCounters) -> Self {
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
                    // Only now: the test holds us to this number.
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

    /// Has all threads record.
    pub fn go(&self) {
        self.orders.go.store(true, Ordering::Relaxed);
        for thread in &self.threads {
            thread.thread().unpark();
        }
    }

    /// Waits until each thread has recorded `n` more spans.
    pub fn wait_for_more(&self, n: u64) {
        for (worker, before) in self.counters.all().into_iter().enumerate().take(self.threads.len()) {
            while self.counters.get(worker) < before + n {
                std::thread::yield_now();
            }
        }
    }

    /// Lets the threads end, and returns how many spans each has recorded.
    pub fn stop(self) -> Vec<u64> {
        self.orders.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().unwrap();
        }
        self.counters.all()
    }
}

/// Tells the test something.
#[macro_export]
macro_rules! tell {
    ($($words:tt)*) => {{
        use std::io::Write;
        // Not `println!`, which panics when nobody listens.
        let _ = writeln!(std::io::stdout(), $($words)*);
    }};
}

/// Waits until the test closes standard input, or tells something.
pub fn wait_for_test() {
    let mut line = String::new();
    let _ = std::io::stdin().read_line(&mut line);
}
