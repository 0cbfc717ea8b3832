//! Scenes that end their recording and begin another.

use crate::work::{Pace, Workers, counters, record};
use crate::{Scene, report};
use ferrum_trace::{Recorder, flush, is_on, span};
use std::cell::Cell;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

pub(crate) const SCENES: &[Scene] = &[
    ("restart-amid-recording", restart_amid_recording),
    ("restart-at-one-path", restart_at_one_path),
    ("restart-at-one-spool", restart_at_one_spool),
    ("restart-amid-flushes", restart_amid_flushes),
    ("restart-while-finishing", restart_while_finishing),
    ("restart-and-end-threads", restart_and_end_threads),
    ("restart-often", restart_often),
    ("restart-very-often", restart_very_often),
    ("restart-with-open-spans", restart_with_open_spans),
];

fn path(n: usize) -> PathBuf {
    std::env::current_dir().unwrap().join(format!("run.{n}.json"))
}

fn start(n: usize) -> Recorder {
    Recorder::builder().path(path(n)).start().unwrap()
}

/// Threads record all the time, whether recording is on or not. For each recording, reports how many spans each thread
/// had recorded shortly after its begin and shortly before its end.
fn restart_amid_recording() {
    assert!(!is_on());
    let workers = Workers::with_counters(4, Pace::Steady, counters(4));
    workers.go();
    for n in 0..16 {
        let recorder = start(n);
        let begun = workers.counters.all();
        workers.wait_for_more(100);
        let ending = workers.counters.all();
        let stats = recorder.finish().unwrap();
        report!("run {begun:?} {ending:?} {} {}", stats.recorded, stats.dropped);
    }
    workers.stop();
}

/// Each recording replaces the file of the one before.
fn restart_at_one_path() {
    for n in 1..=10 {
        let recorder = start(0);
        record(1, n);
        assert_eq!(recorder.finish().unwrap().recorded, n);
        assert!(path(0).exists());
    }
    // The exit of the process ends the last one.
    let _recorder = start(0);
    record(1, 11);
}

/// The same, while a thread lives that has recorded in each recording but does nothing more.
fn restart_at_one_spool() {
    let spool = path(0).with_extension("spool");
    let mut threads = Vec::new();
    for n in 1..=5 {
        let recorder = Recorder::builder().path(&spool).start().unwrap();
        assert_eq!(recorder.path(), spool);
        let (end, is_end) = channel::<()>();
        let (ready, is_ready) = channel();
        let thread = std::thread::spawn(move || {
            record(1, n);
            ready.send(()).unwrap();
            let _ = is_end.recv();
        });
        is_ready.recv().unwrap();
        threads.push((end, thread));
        assert_eq!(recorder.finish().unwrap().recorded, n);
    }
    for (end, thread) in threads {
        drop(end);
        thread.join().unwrap();
    }
}

/// Threads flush all the time, also during the end of a recording, and threads record. After each end the file has the
/// reported number of events, and does not change.
fn restart_amid_flushes() {
    let workers = Workers::with_counters(1, Pace::Steady, counters(1));
    workers.go();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let _ = flush();
                }
            });
        }
        for n in 0..10 {
            let recorder = start(n);
            workers.wait_for_more(1);
            let stats = recorder.finish().unwrap();
            let size = std::fs::metadata(path(n)).unwrap().len();
            report!("run {} {size}", stats.recorded);
        }
        stop.store(true, Ordering::Relaxed);
    });
    workers.stop();
}

/// One thread ends a recording, which takes a while; another begins the next as soon as possible. Later events of a
/// third thread belong to the next recording.
fn restart_while_finishing() {
    let counters = counters(1);
    let recorder = start(0);
    let is_done = AtomicBool::new(false);
    let (ready, is_ready) = channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Enough that the end takes a while.
            record(1, 50_000);
            ready.send(()).unwrap();
            let mut n = 0;
            while !is_done.load(Ordering::Relaxed) {
                n += 1;
                drop(span!("on", n));
                counters.set(0, n);
                std::thread::sleep(Duration::from_micros(10));
            }
        });
        is_ready.recv().unwrap();
        let finishing = scope.spawn(|| recorder.finish().unwrap());
        let next = loop {
            match Recorder::builder().path(path(1)).start() {
                Ok(recorder) => break recorder,
                Err(error) => assert!(error.is_already_recording()),
            }
        };
        let begun = counters.get(0);
        while counters.get(0) < begun + 20 {
            std::thread::yield_now();
        }
        let ending = counters.get(0);
        finishing.join().unwrap();
        is_done.store(true, Ordering::Relaxed);
        let stats = next.finish().unwrap();
        report!("run {begun} {ending} {} {}", stats.recorded, stats.dropped);
    });
}

/// Records when its thread ends.
struct RecordsInDrop(Cell<bool>);

impl Drop for RecordsInDrop {
    fn drop(&mut self) {
        drop(span!("late"));
    }
}

thread_local! {
    static RECORDS_IN_DROP: RecordsInDrop = const { RecordsInDrop(Cell::new(false)) };
}

/// A thread that records in one recording and, from a destructor, in the next, in which the thread numbers differ.
fn restart_and_end_threads() {
    let first = start(0);
    record(1, 1);
    let (end, is_end) = channel::<()>();
    let (ready, is_ready) = channel();
    let work = move || {
        RECORDS_IN_DROP.with(|local| local.0.set(true));
        record(2, 2);
        ready.send(()).unwrap();
        let _ = is_end.recv();
    };
    let thread = std::thread::Builder::new().name("of both".into()).spawn(work).unwrap();
    is_ready.recv().unwrap();
    assert_eq!(first.finish().unwrap().recorded, 2);
    let second = start(1);
    // These threads may have got the former number of the thread.
    for n in 0..3 {
        let other = std::thread::Builder::new().name(format!("other {n}"));
        other.spawn(|| record(1, 1)).unwrap().join().unwrap();
    }
    drop(end);
    thread.join().unwrap();
    let stats = second.finish().unwrap();
    report!("recorded {}", stats.recorded);
    report!("dropped {}", stats.dropped);
}

/// Resources of the process: open files, mappings, threads.
fn holdings() -> [usize; 3] {
    let count = |folder: &str| std::fs::read_dir(folder).unwrap().count();
    let n_mappings = std::fs::read_to_string("/proc/self/maps").unwrap().lines().count();
    [count("/proc/self/fd"), n_mappings, count("/proc/self/task")]
}

/// Threads that record in all recordings, and one that records only in the first.
fn restart_often() {
    let workers = Workers::with_counters(2, Pace::Slow, counters(2));
    let (end, is_end) = channel::<()>();
    let idle = std::thread::spawn(move || {
        while !is_on() {
            std::thread::yield_now();
        }
        record(1, 1);
        let _ = is_end.recv();
    });
    workers.go();
    for n in 0..40 {
        let recorder = start(n % 2);
        workers.wait_for_more(1);
        flush().unwrap();
        recorder.finish().unwrap();
        if n % 20 == 19 {
            report!("holds {:?}", holdings());
        }
    }
    drop(end);
    idle.join().unwrap();
    workers.stop();
}

/// Restarts so often that the end of a recording meets threads at every point of a change of chunks.
fn restart_very_often() {
    let workers = Workers::with_counters(3, Pace::Endless, counters(3));
    workers.go();
    let mut n_lost = 0;
    for n in 0..60 {
        let recorder = Recorder::builder().path(path(n).with_extension("spool")).start().unwrap();
        let begun = workers.counters.all();
        while workers.counters.get(n % 3) < begun[n % 3] + 3 {
            std::thread::yield_now();
        }
        let ending = workers.counters.all();
        let stats = recorder.finish().unwrap();
        // The next span after the begin may have begun before it, when nothing was recorded.
        let least: u64 = begun.iter().zip(ending).map(|(begun, ending)| ending.saturating_sub(begun + 1)).sum();
        n_lost += least.saturating_sub(stats.recorded + stats.dropped);
    }
    report!("lost {n_lost}");
    workers.stop();
}

/// Spans that begin in one recording, or outside of any, and end in another, or outside of any.
fn restart_with_open_spans() {
    let recorder = start(0);
    let in_first = span!("begun in the first");
    let in_first_too = span!("begun in the first, ended in none");
    recorder.finish().unwrap();
    drop(in_first_too);
    let in_none = span!("begun in none");
    let recorder = start(1);
    record(1, 1);
    drop(in_none);
    drop(in_first);
    record(2, 2);
    let stats = recorder.finish().unwrap();
    report!("recorded {}", stats.recorded);
    report!("dropped {}", stats.dropped);
}
