//! Scenes whose recording continues in one file after the other.

use crate::sys::{Ending, Fork, fork, wait_for};
use crate::work::{Pace, Workers, counters, record, wait_for_test};
use crate::{Scene, report};
use ferrum_trace::{Flow, Recorder, Span, Timestamp, Track, async_begin, async_end, control, instant, span};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

pub(crate) const SCENES: &[Scene] = &[
    ("rotate-amid-everything", rotate_amid_everything),
    ("rotate-across-boundaries", rotate_across_boundaries),
    ("rotate-until-killed", rotate_until_killed),
    ("rotate-by-time", rotate_by_time),
    ("rotate-at-the-end", rotate_at_the_end),
    ("rotate-by-builder", rotate_by_builder),
    ("rotate-and-stop", rotate_and_stop),
    ("rotate-and-fork", rotate_and_fork),
];

/// The same for rotation by time, which needs few events.
fn record_slowly_until_at(number: u32) {
    while !is_at(number) {
        drop(span!("filler"));
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Returns true if the recording has reached this file.
fn is_at(number: u32) -> bool {
    let path = control::status().path.unwrap();
    let words: Vec<&str> = path.file_name().unwrap().to_str().unwrap().split('.').collect();
    let now: u32 = words.iter().rev().find_map(|word| word.parse().ok()).unwrap();
    now >= number
}

/// Records until the recording has reached this file.
fn record_until_at(number: u32) {
    while !is_at(number) {
        record_filler();
    }
}

fn record_filler() {
    for _ in 0..1000 {
        drop(span!("filler"));
    }
}

/// Threads that record all kinds of events, one of them in bursts at full speed, and threads that start and end, over
/// many files.
fn rotate_amid_everything() {
    const LAST: u32 = 5;
    let is_over = &AtomicBool::new(false);
    let (next_work, n_others) = (&AtomicU64::new(1), &AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                let (burst, pause) = if thread == 0 { (2000, 60) } else { (4, 1) };
                let track = Track::new(format!("track {thread}"));
                while !is_over.load(Ordering::Relaxed) {
                    let first = next_work.fetch_add(burst, Ordering::Relaxed);
                    record(first, first + burst - 1);
                    drop(Span::dynamic(&format!("dynamic {}", first % 64), "names"));
                    instant!("point", n = first);
                    track.complete_at("on track", "names", Timestamp::now(), Timestamp::now());
                    n_others.fetch_add(3, Ordering::Relaxed);
                    std::thread::sleep(Duration::from_millis(pause));
                }
            });
        }
        scope.spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                std::thread::spawn(|| instant!("born", "threads")).join().unwrap();
                n_others.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        while !is_at(LAST) {
            std::thread::sleep(Duration::from_millis(1));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    report!("work {}", next_work.load(Ordering::Relaxed) - 1);
    report!("others {}", n_others.load(Ordering::Relaxed));
}

/// Spans, requests and flows that begin in one file and end in the next.
fn rotate_across_boundaries() {
    ferrum_trace::set_process_name("renamed");
    ferrum_trace::set_thread_name("decode loop");
    let outer = span!("outer");
    let inner = span!("inner");
    let flow = Flow::new();
    span!("departure").flow_out(flow);
    async_begin!("request", "llm", 7);
    record_until_at(2);
    async_end!("request", "llm", 7);
    span!("arrival").flow_in(flow);
    drop(inner);
    drop(outer);
}

fn rotate_until_killed() {
    let counters = counters(2);
    let workers = Workers::with_counters(2, Pace::Steady, counters);
    report!("ready");
    wait_for_test();
    workers.go();
    loop {
        std::thread::park();
    }
}

fn rotate_by_time() {
    for number in 1..=3 {
        record_slowly_until_at(number);
        record(10 * u64::from(number) - 9, 10 * u64::from(number));
    }
}

/// The last file has no events.
fn rotate_at_the_end() {
    drop(span!("filler"));
    while !is_at(2) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn rotate_by_builder() {
    let recorder = Recorder::builder().path("built.json.zst").rotate(1 << 20).rotate_keep(2).start().unwrap();
    let mut n = 0;
    while !recorder.path().ends_with("built.005.json.zst") {
        record(n + 1, n + 1000);
        n += 1000;
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(recorder.stats().unwrap().recorded <= n);
    recorder.flush().unwrap();
    let stats = recorder.finish().unwrap();
    assert_eq!((stats.recorded, stats.dropped), (n, 0));
    report!("recorded {n}");
}

fn rotate_and_stop() {
    record_until_at(2);
    let stopping = control::stop().unwrap();
    report!("last {}", stopping.path().display());
    stopping.wait().unwrap();
    drop(span!("after"));
}

fn rotate_and_fork() {
    record(1, 10);
    match fork() {
        Fork::Child => {
            record(1, 10);
            record_until_at(2);
            std::process::exit(0);
        }
        Fork::Parent { child } => {
            record_until_at(2);
            assert_eq!(wait_for(child), Ending::Code(0));
            report!("child {child}");
        }
    }
}
