//! Scenes on a machine whose processors are all busy, as a user without privileges.

use crate::sys::become_unprivileged;
use crate::{Scene, report};
use ferrum_trace::{DumpLimits, Recorder, control, dump, span};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

pub(crate) const SCENES: &[Scene] = &[
    ("rotate-on-busy-processors", rotate),
    ("flush-on-busy-processors", flush),
    ("stop-on-busy-processors", stop),
    ("dump-on-busy-processors", dump_ring),
];

const LIMIT_BYTES: u64 = 8 << 20;
/// More than two files, which are written while the third one is recorded.
const LAST_FILE: &str = "trace.007.json";
/// Events that take a long time to write with a hundredth of a processor.
const MANY: u64 = 300_000;

/// Calls `work` while other threads, one for each processor, never rest.
fn on_busy_processors(work: impl FnOnce()) {
    become_unprivileged();
    let is_over = &AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().unwrap().get() {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        work();
        is_over.store(true, Ordering::Relaxed);
    });
}

/// Records as long as there is room, and rests while the files before are written.
fn rotate() {
    on_busy_processors(|| {
        let recorder = Recorder::builder().path("trace.json").rotate(1 << 20).limit(LIMIT_BYTES).start().unwrap();
        let mut n = 0;
        while !recorder.path().ends_with(LAST_FILE) {
            if control::status().spool_bytes < LIMIT_BYTES * 3 / 4 {
                (0..1000).for_each(|_| drop(span!("work")));
                n += 1000;
            }
            thread::sleep(Duration::from_millis(1));
        }
        let stats = recorder.finish().unwrap();
        assert_eq!((stats.recorded, stats.dropped), (n, 0));
        report!("recorded {n}");
    });
}

fn record_much() -> Recorder {
    let recorder = Recorder::builder().path("trace.json").start().unwrap();
    (0..MANY).for_each(|_| drop(span!("work")));
    recorder
}

fn flush() {
    on_busy_processors(|| {
        let recorder = record_much();
        control::flush().unwrap().wait().unwrap();
        report!("written {}", Path::new("trace.json").exists());
        recorder.finish().unwrap();
    });
}

fn stop() {
    on_busy_processors(|| {
        record_much();
        let stats = control::stop().unwrap().wait().unwrap();
        report!("recorded {}", stats.recorded);
    });
}

fn dump_ring() {
    on_busy_processors(|| {
        let limits = DumpLimits { after: Duration::ZERO, ..DumpLimits::default() };
        let recorder = Recorder::builder().path("trace.json").ring(4 << 20).dumps(limits).start().unwrap();
        (0..MANY).for_each(|_| drop(span!("work")));
        assert!(dump("measured"));
        while !Path::new("trace.dump-001.json").exists() {
            thread::sleep(Duration::from_millis(5));
        }
        recorder.finish().unwrap();
    });
}
