//! The flight recorder keeps the newest events in fixed memory, and those are complete.

use ferrum_trace::{DumpLimits, DumpRefusal, Flow, Recorder, async_begin, async_end, dump, flush, span, stats};
use ferrum_trace_testkit::trace_file::TraceFile;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The recording belongs to the process, so the tests of this file run one at a time.
static TURN: Mutex<()> = Mutex::new(());
const MIB: u64 = 1 << 20;

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A folder that is removed when this is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("ferrum-ring-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn path(&self) -> PathBuf {
        self.0.join("trace.json")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn record_many(n: u64) {
    for i in 0..n {
        let _span = span!("busy", "test", i);
    }
}

fn on_thread<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new().name(name.into()).spawn(work).unwrap().join().unwrap()
}

/// Asserts that the newest spans of a thread are there without gaps, up to `last`, and at least `least` of them.
#[track_caller]
fn assert_newest(trace: &TraceFile, last: u64, least: usize) {
    let mut numbers = trace.numbers("busy", "i");
    numbers.sort_unstable();
    assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "spans are missing");
    assert_eq!(numbers.last(), Some(&last));
    assert!(numbers.len() >= least, "found only {}", numbers.len());
}

#[test]
fn the_newest_events_and_the_last_events_of_quiet_threads_are_kept() {
    let _turn = turn();
    let scratch = Scratch::new("newest");
    let recorder = Recorder::builder().path(scratch.path()).ring(2 * MIB).start().unwrap();
    for i in 0..10u64 {
        let _span = span!("quiet", "test", i);
    }
    on_thread("gone", || drop(span!("gone")));
    on_thread("busy", || record_many(300_000));
    let stats = recorder.finish().unwrap();
    assert_eq!(stats.dropped, 0);
    assert!(stats.bytes <= 2 * MIB, "{} bytes", stats.bytes);
    let trace = TraceFile::read(&scratch.path());
    trace.assert_nested();
    assert_eq!(trace.count("quiet"), 10, "the last events of a quiet living thread are kept");
    assert_eq!(trace.count("gone"), 0, "the last events of an ended thread are not spared");
    // A span with an argument takes 24 bytes; most of the ring has such spans.
    assert_newest(&trace, 299_999, 40_000);
    assert_eq!(trace.about("ring_bytes"), 2 * MIB);
    assert!(trace.about("overwritten_chunks") > 100);
    assert!(!Path::new(&format!("{}.spool", scratch.path().display())).exists());
}

#[test]
fn a_flush_is_consistent_while_the_ring_is_overwritten() {
    let _turn = turn();
    let scratch = Scratch::new("flush");
    let recorder = Recorder::builder().path(scratch.path()).ring(4 * MIB).start().unwrap();
    let busy = std::thread::spawn(|| record_many(1_000_000));
    let mut n_flushes = 0;
    while !busy.is_finished() {
        flush().unwrap();
        let trace = TraceFile::read(&scratch.path());
        trace.assert_nested();
        assert_eq!(trace.numbers("busy", "i").len(), trace.count("busy"), "every span has its argument");
        assert!(stats().unwrap().dropped == 0);
        n_flushes += 1;
    }
    busy.join().unwrap();
    assert!(n_flushes > 0);
    recorder.finish().unwrap();
    assert_newest(&TraceFile::read(&scratch.path()), 999_999, 100_000);
}

#[test]
fn an_async_slice_whose_begin_was_overwritten_begins_with_the_ring() {
    let _turn = turn();
    let scratch = Scratch::new("halves");
    let recorder = Recorder::builder().path(scratch.path()).ring(MIB).start().unwrap();
    let (gone, there) = (Flow::new(), Flow::new());
    on_thread("worker", move || {
        async_begin!("request", "test", 7, prompt = 12);
        span!("launch").flow_out(gone);
        record_many(200_000);
        async_begin!("request", "test", 8);
        span!("launch").flow_out(there);
        for flow in [gone, there] {
            let span = span!("arrival");
            span.flow_in(flow);
        }
        async_end!("request", "test", 7, tokens = 5);
        async_end!("request", "test", 8, tokens = 6);
    });
    recorder.finish().unwrap();
    let trace = TraceFile::read(&scratch.path());
    let of_phase = |phase| trace.named("request").filter(move |event| event.phase == phase);
    assert_eq!((of_phase('b').count(), of_phase('e').count()), (2, 2));
    let begin_of = |id: &str| of_phase('b').find(|event| event.extra["id2"]["local"] == id).unwrap().start_ns;
    let (gone, there) = (begin_of("0x7"), begin_of("0x8"));
    let n_before = trace.named("busy").filter(|event| event.start_ns < gone).count();
    assert!(n_before <= 1, "the request whose begin was overwritten begins with the ring");
    assert!(there > gone);
    let flows: Vec<char> = trace.named("flow").map(|event| event.phase).collect();
    assert_eq!(flows, ['s', 'f'], "a flow whose begin was overwritten is left out");
    leave_for_viewers(&scratch.path(), &trace);
}

/// Copies a trace for the step `viewers` of `cargo xtask check`.
fn leave_for_viewers(path: &Path, trace: &TraceFile) {
    let room = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("viewer-check");
    std::fs::create_dir_all(&room).unwrap();
    std::fs::copy(path, room.join("ring.json")).unwrap();
    let slices = trace.recorded().filter(|event| "Xb".contains(event.phase)).count();
    std::fs::write(room.join("ring.json.expect"), format!("slices={slices}\nunended=0\nflows=1\n")).unwrap();
}

#[test]
fn a_ring_of_time_drops_older_events() {
    let _turn = turn();
    let scratch = Scratch::new("time");
    let time = Duration::from_millis(50);
    let recorder = Recorder::builder().path(scratch.path()).ring_of(time).limit(64 * MIB).start().unwrap();
    on_thread("busy", move || {
        for i in 0..20u64 {
            record_many(10_000);
            let _span = span!("round", "test", i);
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let stats = recorder.finish().unwrap();
    assert!(stats.recorded < 200_000, "nothing was overwritten");
    let trace = TraceFile::read(&scratch.path());
    assert!(trace.numbers("round", "i").ends_with(&[18, 19]));
}

#[test]
fn open_async_slices_end_with_the_dump_and_later_at_their_own_end() {
    let _turn = turn();
    let scratch = Scratch::new("under-way");
    let limits = DumpLimits { after: Duration::ZERO, ..DumpLimits::default() };
    let recorder = Recorder::builder().path(scratch.path()).ring(MIB).dumps(limits).start().unwrap();
    async_begin!("request", "test", 7, prompt = 12);
    async_begin!("decode", "test", 7);
    async_begin!("request", "test", 8);
    async_end!("request", "test", 8, tokens = 6);
    drop(span!("busy"));
    assert!(dump("under way"));
    let dumped = scratch.0.join("trace.dump-001.json");
    while !dumped.exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let trace = TraceFile::read(&dumped);
    let ends: Vec<_> = trace.recorded().filter(|event| event.phase == 'e').collect();
    let found =
        ends.iter().map(|end| (end.name.as_str(), end.extra["id2"]["local"].as_str(), end.args.get("unclosed")));
    let yes = serde_json::Value::Bool(true);
    let expected =
        [("request", Some("0x8"), None), ("decode", Some("0x7"), Some(&yes)), ("request", Some("0x7"), Some(&yes))];
    assert_eq!(found.collect::<Vec<_>>(), expected, "the last begun ends first");
    let last = trace.recorded().map(|event| event.end_ns).max();
    assert!(ends[1..].iter().all(|end| Some(end.end_ns) == last));
    // The next version of a file has no synthetic ends.
    flush().unwrap();
    async_end!("decode", "test", 7);
    async_end!("request", "test", 7);
    recorder.finish().unwrap();
    let trace = TraceFile::read(&scratch.path());
    let ends: Vec<_> = trace.recorded().filter(|event| event.phase == 'e').collect();
    assert_eq!((ends.len(), ends.iter().filter(|end| end.args.contains_key("unclosed")).count()), (3, 0));
}

#[test]
fn a_dump_has_its_reason_and_events_before_and_after_it_while_recording_continues() {
    let _turn = turn();
    let scratch = Scratch::new("dump");
    assert!(!dump("nothing is recorded"));
    let limits =
        DumpLimits { files: 2, every: Duration::ZERO, after: Duration::from_millis(20), ..DumpLimits::default() };
    let recorder = Recorder::builder().path(scratch.path()).ring(MIB).dumps(limits).start().unwrap();
    drop(span!("before"));
    assert!(dump("a slow step"));
    assert!(!dump("one is under way"));
    drop(span!("after"));
    let first = scratch.0.join("trace.dump-001.json");
    while !first.exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let trace = TraceFile::read(&first);
    assert_eq!((trace.count("before"), trace.count("after")), (1, 1));
    let trigger = trace.named("trigger").next().unwrap();
    assert_eq!((trigger.text("reason").as_str(), trigger.number("dump")), ("a slow step", 1));
    let of_dump = &trace.events.iter().find(|event| event.name == "ferrum_trace").unwrap().args["trigger"];
    assert_eq!((&of_dump["reason"], &of_dump["dump"]), (&"a slow step".into(), &1.into()));
    // At the end, a dump does not wait for its post-roll, and loses nothing.
    while !dump("the end") {
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(span!("last"));
    let stats = recorder.finish().unwrap();
    assert!(stats.dumps_refused >= 1);
    assert_eq!(stats.refused.total(), stats.dumps_refused);
    assert!(stats.refused.get(DumpRefusal::UnderWay) >= 1);
    assert_eq!(TraceFile::read(&scratch.0.join("trace.dump-002.json")).count("last"), 1);
    assert_eq!(TraceFile::read(&scratch.path()).count("last"), 1);
    let mut files: Vec<_> = std::fs::read_dir(&scratch.0).unwrap().map(|file| file.unwrap().file_name()).collect();
    files.sort();
    assert_eq!(files, ["trace.dump-001.json", "trace.dump-002.json", "trace.json"]);
}
