//! A flight recorder of a program whose threads and names come and go: its size is bounded, and it has the newest
//! events with their threads and names.

use ferrum_trace::{Recorder, Span, Stats, Track, flush, set_thread_name, span, stats};
use ferrum_trace_testkit::trace_file::TraceFile;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The recording belongs to the process, so the tests of this file run one at a time.
static TURN: Mutex<()> = Mutex::new(());
const MIB: u64 = 1 << 20;

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A folder for one trace.
struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Self {
        Self(tempfile::TempDir::with_prefix("ferrum-churn-").unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("trace.json")
    }

    /// Ends the recording, and checks that its size and its counts are true.
    #[track_caller]
    fn finish(&self, recorder: Recorder, ring_bytes: u64) -> (TraceFile, Stats) {
        let spool = std::fs::metadata(self.0.path().join("trace.json.spool")).unwrap();
        assert!(spool.len() <= ring_bytes, "{} bytes", spool.len());
        let before = stats().unwrap();
        let ended = recorder.finish().unwrap();
        assert_eq!((before.recorded, before.dropped), (ended.recorded, ended.dropped));
        let trace = TraceFile::read(&self.path());
        assert_eq!(trace.recorded().count() as u64, ended.recorded);
        trace.assert_nested();
        (trace, ended)
    }
}

fn on_thread(name: &str, work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().name(name.into()).spawn(work).unwrap().join().unwrap();
}

#[test]
fn many_threads_share_chunks_and_the_newest_are_kept_with_their_names() {
    const THREADS: u64 = 9_000;
    const SPANS: u64 = 20;
    let _turn = turn();
    let scratch = Scratch::new();
    let recorder = Recorder::builder().path(scratch.path()).ring(MIB).start().unwrap();
    for thread in 0..THREADS {
        on_thread(&format!("thread {thread}"), move || {
            (0..SPANS).for_each(|n| drop(span!("work", thread, n)));
        });
    }
    let (trace, ended) = scratch.finish(recorder, MIB);
    assert_eq!(ended.dropped, 0);
    let names = trace.thread_names();
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for event in trace.named("work") {
        let thread = event.number("thread");
        assert_eq!(names[&event.tid], format!("thread {thread}"));
        spans.push((thread, event.number("n")));
    }
    spans.sort_unstable();
    // No gap up to the last span.
    let expected = (0..THREADS).flat_map(|thread| (0..SPANS).map(move |n| (thread, n)));
    let expected: Vec<_> = expected.skip((THREADS * SPANS) as usize - spans.len()).collect();
    assert!(spans == expected, "from {:?} to {:?}", spans.first(), spans.last());
    // 20 spans of 32 bytes, and less than 100 bytes for the thread.
    assert!(spans.len() as u64 > MIB * 3 / 4 / (20 * 32 + 100) * SPANS, "only {} spans", spans.len());
}

#[test]
fn many_names_leave_room_for_the_newest_events_and_keep_their_texts() {
    const NAMES: u64 = 90_000;
    let _turn = turn();
    let scratch = Scratch::new();
    let recorder = Recorder::builder().path(scratch.path()).ring(MIB).start().unwrap();
    on_thread("names", || {
        for n in 0..NAMES {
            drop(Span::dynamic(&format!("name {n}"), "dynamic"));
            drop(span!("counted", n));
        }
    });
    let (trace, ended) = scratch.finish(recorder, MIB);
    assert_eq!(ended.dropped, 0);
    let counted = trace.numbers("counted", "n");
    let named: Vec<u64> =
        trace.recorded().filter_map(|event| Some(event.name.strip_prefix("name ")?.parse().unwrap())).collect();
    // The first name may have been in a chunk that was overwritten.
    assert!(named.ends_with(&counted[1..]) && counted.last() == Some(&(NAMES - 1)), "{named:?}");
    assert!(counted.len() > 3_000, "only {}", counted.len());
}

#[test]
fn a_few_names_stay_known_while_others_come_and_go() {
    let _turn = turn();
    let scratch = Scratch::new();
    let recorder = Recorder::builder().path(scratch.path()).ring(MIB).start().unwrap();
    on_thread("names", || {
        let _all_the_time = Span::dynamic("all the time", "dynamic");
        for n in 0..40_000 {
            drop(Span::dynamic(&format!("name {n}"), "dynamic"));
            drop(Span::dynamic("again and again", "dynamic"));
        }
    });
    let (trace, ended) = scratch.finish(recorder, MIB);
    assert_eq!(ended.dropped, 0);
    assert_eq!(trace.count("all the time"), 1);
    let n_named = trace.recorded().filter(|event| event.name.starts_with("name ")).count();
    assert!(trace.count("again and again").abs_diff(n_named) <= 1 && n_named > 3_000);
}

#[test]
fn names_beyond_their_share_of_the_ring_are_right_and_take_little_room() {
    const SPANS: u64 = 60_000;
    let _turn = turn();
    let scratch = Scratch::new();
    let recorder = Recorder::builder().path(scratch.path()).ring(MIB).start().unwrap();
    on_thread("names", || {
        (0..10_000).for_each(|n| drop(Span::dynamic(&format!("early {n}"), "dynamic")));
        let _longer_than_the_ring = Span::dynamic("late and long", "dynamic");
        for n in 0..SPANS {
            let _outer = Span::dynamic(&format!("late {}", n % 5), "dynamic");
            drop(span!("counted", n));
        }
    });
    let (trace, ended) = scratch.finish(recorder, MIB);
    assert_eq!(ended.dropped, 0);
    let mut spans: Vec<_> = trace.recorded().map(|event| (event.start_ns, event)).collect();
    spans.sort_by_key(|(start, _)| *start);
    let mut n_named = 0;
    for pair in spans.windows(2) {
        if let Some(late) = pair[0].1.name.strip_prefix("late ").filter(|late| *late != "and long") {
            let counted = pair[1].1;
            assert_eq!((counted.name.as_str(), counted.number("n") % 5), ("counted", late.parse().unwrap()));
            n_named += 1;
        }
    }
    let n_counted = trace.count("counted");
    // Written with each event, a name takes about 100 bytes; these spans take 40.
    assert!(n_counted > 15_000 && n_counted - n_named <= 2, "{n_named} of {n_counted}");
    // The long span, and the one at the end of the chunk that was overwritten last.
    assert!((1..=2).contains(&trace.count("(name overwritten)")));
    assert_eq!(trace.about("lost_texts"), trace.count("(name overwritten)") as u64);
}

#[test]
fn tracks_beyond_their_share_of_the_ring_are_lost_and_counted() {
    let _turn = turn();
    let scratch = Scratch::new();
    let recorder = Recorder::builder().path(scratch.path()).ring(MIB).start().unwrap();
    let now = ferrum_trace::Timestamp::now();
    for n in 0..5_000 {
        Track::new(format!("track {n}")).complete_at("slice", "test", now, now);
    }
    drop(span!("last"));
    let (trace, ended) = scratch.finish(recorder, MIB);
    assert_eq!((ended.recorded + ended.dropped, trace.count("last")), (5_001, 1));
    assert!(ended.dropped > 0 && trace.count("slice") > 1_000);
    assert_eq!(trace.about("dropped"), ended.dropped);
}

#[test]
fn a_thread_keeps_the_name_that_it_was_given_while_its_chunks_are_overwritten() {
    let _turn = turn();
    let scratch = Scratch::new();
    let recorder = Recorder::builder().path(scratch.path()).ring(MIB).start().unwrap();
    on_thread("first name", || {
        drop(span!("before"));
        set_thread_name("second name");
        (0..100_000).for_each(|n| drop(span!("work", n)));
        flush().unwrap();
        set_thread_name("third name");
        drop(span!("after"));
    });
    let (trace, _) = scratch.finish(recorder, MIB);
    let after = trace.named("after").next().unwrap();
    assert_eq!(trace.thread_names()[&after.tid], "third name");
    assert_eq!((trace.count("before"), trace.thread_names().len()), (0, 1));
}

#[test]
fn an_open_span_of_a_thread_without_other_events_has_the_name_of_its_thread() {
    let _turn = turn();
    let scratch = Scratch::new();
    let recorder = Recorder::builder().path(scratch.path()).ring(MIB).start().unwrap();
    let (inside, is_inside) = channel();
    let (leave, may_leave) = channel::<()>();
    let hanging = std::thread::Builder::new().name("hangs".into()).spawn(move || {
        let _span = span!("hanging");
        inside.send(()).unwrap();
        let _ = may_leave.recv();
    });
    is_inside.recv().unwrap();
    on_thread("busy", || (0..100_000).for_each(|n| drop(span!("work", n))));
    flush().unwrap();
    let trace = TraceFile::read(&scratch.path());
    let open: Vec<_> = trace.unfinished().collect();
    assert_eq!((open.len(), open[0].name.as_str()), (1, "hanging"));
    assert_eq!(trace.thread_names()[&open[0].tid], "hangs");
    drop(leave);
    hanging.unwrap().join().unwrap();
    recorder.finish().unwrap();
}
