//! Control of a running recording: pause, stop, categories.

use ferrum_trace::control::{self, State};
use ferrum_trace::llm::{self, Phase, Step};
use ferrum_trace::{
    AsyncSpan, Recorder, Span, Timestamp, Track, async_begin, async_end, async_span, complete_at, counter, instant,
    laps, span,
};
use ferrum_trace_testkit::trace_file::TraceFile;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The recording belongs to the process, so the tests of this file run one at a time.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn start(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("control");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{name}.json"));
    Recorder::builder().path(&path).start().unwrap();
    path
}

#[test]
fn a_paused_recording_has_the_events_before_and_after_the_pause() {
    let _turn = turn();
    let path = start("paused");
    let open = span!("open over the pause");
    drop(span!("before"));
    control::pause().unwrap();
    assert_eq!(control::status().state, State::Paused);
    assert!(!ferrum_trace::is_on());
    drop(span!("meanwhile"));
    drop(open);
    control::resume().unwrap();
    assert_eq!(control::status().state, State::Recording);
    drop(span!("after"));
    let stats = control::stop().unwrap().wait().unwrap();
    assert_eq!(stats.recorded, 3);
    let trace = TraceFile::read(&path);
    for (name, n) in [("before", 1), ("open over the pause", 1), ("meanwhile", 0), ("after", 1)] {
        assert_eq!(trace.count(name), n, "{name}");
    }
    assert!(control::pause().unwrap_err().is_not_recording());
    assert!(control::stop().unwrap_err().is_not_recording());
    assert_eq!(control::status().state, State::Off);
}

#[test]
fn a_request_that_spans_a_pause_is_complete() {
    let _turn = turn();
    let path = start("request");
    let mut request = llm::request(1).arrived();
    control::pause().unwrap();
    let mut unseen = llm::request(2).arrived();
    request.first_token();
    unseen.first_token();
    request.finished("stop");
    control::resume().unwrap();
    unseen.finished("stop");
    ferrum_trace::finish().unwrap();
    let trace = TraceFile::read(&path);
    // Begin and end of one request.
    assert_eq!((trace.count("request"), trace.count("first token")), (2, 1));
}

/// Records one event of each kind, in a category. Returns their number.
fn one_of_each(track: &Track) -> u64 {
    drop(span!("span", "test"));
    let mut lap = laps!("laps", "test");
    lap.mark("lap");
    drop(lap);
    instant!("instant", "test");
    async_begin!("async", "test", 1);
    async_end!("async", "test", 1);
    let async_span: AsyncSpan = async_span!("async span", "test");
    async_span.instant("half");
    drop(async_span);
    drop(Span::dynamic("dynamic", "test"));
    complete_at!(track, Timestamp::now(), Timestamp::now(), "on a track", "test");
    track.complete_at("named", "test", Timestamp::now(), Timestamp::now());
    12
}

#[test]
fn categories_are_switched_off_and_on_for_every_kind_of_event() {
    let _turn = turn();
    let path = start("categories");
    let track = Track::new("track");
    let n_of_each = one_of_each(&track);
    control::set_categories("-test,-counter".parse().unwrap());
    one_of_each(&track);
    counter!("counter", value = 1);
    for _ in 0..3 {
        drop(span!("of another", "other"));
    }
    control::set_categories(control::categories().with("test", true));
    one_of_each(&track);
    counter!("counter", value = 1);
    control::set_categories("step".parse().unwrap());
    one_of_each(&track);
    drop(llm::step(Step { phase: Phase::Prefill, batch: 1, prefill_tokens: 1, decode_tokens: 0, context_tokens: 1 }));
    drop(llm::layer(1));
    control::set_categories("".parse().unwrap());
    let stats = control::stop().unwrap().wait().unwrap();
    assert_eq!(stats.recorded, 2 * n_of_each + 3 + 1);
    let trace = TraceFile::read(&path);
    for (name, n) in [("span", 2), ("lap", 2), ("of another", 3), ("counter", 0), ("prefill", 1), ("layer", 0)] {
        assert_eq!(trace.count(name), n, "{name}");
    }
    trace.assert_nested();
}

#[test]
fn switching_one_category_at_full_speed_loses_no_event_of_another() {
    let _turn = turn();
    let path = start("pace");
    const N: usize = 20_000;
    let work = || {
        for _ in 0..N {
            let _outer = span!("kept", "kept");
            drop(span!("switched", "switched"));
        }
    };
    std::thread::scope(|scope| {
        let workers = [scope.spawn(work), scope.spawn(work)];
        let mut is_on = false;
        while !workers.iter().all(|worker| worker.is_finished()) {
            control::set_categories(control::categories().with("switched", is_on));
            is_on = !is_on;
        }
    });
    control::set_categories("".parse().unwrap());
    ferrum_trace::finish().unwrap();
    let trace = TraceFile::read(&path);
    assert_eq!(trace.count("kept"), 2 * N);
    trace.assert_nested();
}

#[test]
fn the_file_of_a_stopped_recording_is_complete_while_the_next_one_records() {
    let _turn = turn();
    let first = start("first");
    (0..100_000u64).for_each(|i| drop(span!("first", "test", i)));
    let stopping = control::stop().unwrap();
    let second = start("second");
    drop(span!("second"));
    control::flush().unwrap().wait().unwrap();
    assert_eq!(TraceFile::read(&second).count("second"), 1);
    assert_eq!(stopping.path(), first);
    assert_eq!(stopping.wait().unwrap().recorded, 100_000);
    assert_eq!(TraceFile::read(&first).count("first"), 100_000);
    ferrum_trace::finish().unwrap();
}
