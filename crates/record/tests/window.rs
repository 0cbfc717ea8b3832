//! Windows: only a part of a run is recorded.

use ferrum_trace::control::{self, State};
use ferrum_trace::llm::{self, Phase, Step};
use ferrum_trace::{Recorder, Timestamp, Window, span};
use ferrum_trace_testkit::trace_file::TraceFile;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The recording belongs to the process, so the tests of this file run one at a time.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn path(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("window");
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(format!("{name}.json"))
}

fn start(name: &str, window: &str) -> PathBuf {
    let path = path(name);
    Recorder::builder().path(&path).window(window.parse().unwrap()).start().unwrap();
    path
}

/// Records one step of an engine, with a layer in it that has the step's number.
fn step(n: u64) {
    let _step =
        llm::step(Step { phase: Phase::Decode, batch: 1, prefill_tokens: 0, decode_tokens: 1, context_tokens: 9 });
    let _layer = span!("layer", "test", n);
}

#[track_caller]
fn steps_of(path: &Path) -> Vec<u64> {
    let trace = TraceFile::read(path);
    let steps = trace.numbers("layer", "n");
    assert_eq!(trace.count("decode"), steps.len(), "each layer has a step");
    steps
}

/// Waits until the window has ended the recording and the file is complete.
#[track_caller]
fn wait_for_end() {
    for _ in 0..12_000 {
        if control::status().state == State::Off && control::status().writing == 0 {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("{:?}", control::status());
}

#[test]
fn steps_in_the_window_are_recorded_and_then_the_file_is_written() {
    let _turn = turn();
    let path = start("steps", "skip=10, steps=100..120");
    for n in 0..200 {
        step(n);
        drop(span!("between"));
    }
    wait_for_end();
    assert_eq!(steps_of(&path), (110..130).collect::<Vec<u64>>());
    // Events between two steps belong to the first one.
    assert_eq!(TraceFile::read(&path).count("between"), 20);
}

#[test]
fn every_hundredth_step_is_recorded_until_the_end() {
    let _turn = turn();
    let path = start("every", "every=100");
    assert_eq!(control::status().state, State::OutsideWindow);
    (0..1000).for_each(step);
    ferrum_trace::finish().unwrap();
    assert_eq!(steps_of(&path), (0..10).map(|n| 100 * n + 99).collect::<Vec<u64>>());
}

#[test]
fn only_the_first_milliseconds_are_recorded() {
    let _turn = turn();
    let path = start("first", "first=300ms");
    drop(span!("early"));
    wait_for_end();
    drop(span!("late"));
    let trace = TraceFile::read(&path);
    assert_eq!((trace.count("early"), trace.count("late")), (1, 0));
}

#[test]
fn warm_up_by_time_is_skipped_and_its_steps_do_not_count() {
    let _turn = turn();
    let began = Timestamp::now();
    let path = start("skip", "skip=200ms, steps=..2");
    while control::status().state != State::Off {
        step((Timestamp::now().monotonic_nanos() - began.monotonic_nanos()) / 1_000_000);
        std::thread::sleep(Duration::from_millis(1));
    }
    wait_for_end();
    let steps = steps_of(&path);
    assert_eq!(steps.len(), 2);
    assert!(steps[0] >= 200, "{steps:?}");
}

#[test]
fn chosen_requests_are_complete_across_threads_and_others_are_absent() {
    let _turn = turn();
    let path = start("requests", "requests=1/4");
    let live = |id: u64| {
        let mut request = llm::request(id).prompt_tokens(3).arrived();
        std::thread::spawn(move || {
            request.prefill();
            request.first_token();
            drop(span!("work", "test", id));
            std::thread::spawn(move || {
                request.token();
                request.finished("stop");
            })
            .join()
            .unwrap();
            drop(span!("after", "test", id));
        })
        .join()
        .unwrap();
    };
    (0..400).for_each(live);
    ferrum_trace::finish().unwrap();
    let trace = TraceFile::read(&path);
    let begins = trace.recorded().filter(|event| event.name == "request" && event.phase == 'b');
    let ids: Vec<u64> = begins.map(|event| event.number("request")).collect();
    assert!((60..140).contains(&ids.len()), "{} of 400", ids.len());
    // Recorded are all events of a chosen request, on any thread, and everything else while it exists.
    for (name, n) in
        [("queued", 2), ("prefill", 2), ("decode", 2), ("first token", 1), ("token", 1), ("work", 1), ("after", 0)]
    {
        assert_eq!(trace.count(name), n * ids.len(), "{name}");
    }
    assert_eq!(trace.numbers("work", "id"), ids);
}

#[test]
fn a_rank_outside_of_the_window_records_nothing() {
    let _turn = turn();
    let path = path("rank");
    let builder = Recorder::builder().path(&path).rank(3);
    let recorder = builder.clone().window(Window::default().ranks(0..2)).start().unwrap();
    drop(span!("work"));
    assert_eq!(recorder.finish().unwrap().recorded, 0);
    let recorder = builder.window(Window::default().ranks(3..=3)).start().unwrap();
    drop(span!("work"));
    assert_eq!(recorder.finish().unwrap().recorded, 1);
}
