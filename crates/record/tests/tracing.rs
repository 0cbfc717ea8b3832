//! Spans and events of `tracing` in a recording.
#![cfg(feature = "tracing")]

use ferrum_trace::Recorder;
use ferrum_trace_testkit::trace_file::TraceFile;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tracing::{Span, field, info, info_span, span, subscriber};
use tracing_subscriber::prelude::*;

/// The recording is that of the process, so the tests of this file take turns.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is recorded while `work` runs.
fn recorded(work: impl FnOnce()) -> TraceFile {
    let _turn = turn();
    let folder =
        std::env::temp_dir().join(format!("ferrum-tracing-{}-{:?}", std::process::id(), std::thread::current().id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("trace.json");
    let recorder = Recorder::builder().path(&path).start().unwrap();
    subscriber::with_default(tracing_subscriber::registry().with(ferrum_trace::tracing::layer()), work);
    recorder.finish().unwrap();
    let trace = TraceFile::read(&path);
    std::fs::remove_dir_all(folder).unwrap();
    trace
}

#[test]
fn spans_are_slices_with_their_fields_as_typed_arguments() {
    let trace = recorded(|| {
        let outer = info_span!(target: "engine", "step", batch = 4_u64, ratio = 0.5, is_last = true, phase = "prefill");
        outer.in_scope(|| {
            let _inner = info_span!("layer", layer = -3_i64).entered();
        });
    });
    let step = trace.named("step").next().unwrap();
    assert_eq!((step.phase, step.category.as_str()), ('X', "engine"));
    assert_eq!(step.number("batch"), 4);
    assert_eq!(step.args["ratio"], 0.5);
    assert_eq!(step.args["is_last"], true);
    assert_eq!(step.text("phase"), "prefill");
    assert_eq!(trace.named("layer").next().unwrap().args["layer"], -3);
    trace.assert_nested();
}

#[test]
fn fields_that_have_no_value_are_left_out_and_those_that_get_one_later_are_not() {
    let trace = recorded(|| {
        let span = info_span!("request", id = 7, tokens = field::Empty, reason = field::Empty);
        span.record("tokens", 12);
        span.record("tokens", 128);
        span.in_scope(|| ());
    });
    let request = trace.named("request").next().unwrap();
    assert_eq!((request.number("id"), request.number("tokens")), (7, 128));
    assert!(request.args.get("reason").is_none());
}

#[test]
fn a_span_that_waits_has_a_row_that_tells_work_from_waiting() {
    let trace = recorded(|| {
        let span = info_span!("task", id = 1);
        let dispatch = tracing::dispatcher::get_default(Clone::clone);
        span.in_scope(|| std::thread::sleep(Duration::from_millis(2)));
        std::thread::sleep(Duration::from_millis(20));
        let moved = span.clone();
        let on_another = move || tracing::dispatcher::with_default(&dispatch, || moved.in_scope(|| ()));
        std::thread::Builder::new().name("other".into()).spawn(on_another).unwrap().join().unwrap();
        drop(span);
    });
    let phases: Vec<char> = trace.named("task").map(|event| event.phase).collect();
    assert_eq!(phases.iter().filter(|phase| **phase == 'X').count(), 2);
    let end = trace.named("task").find(|event| event.phase == 'e').unwrap();
    let begin = trace.named("task").find(|event| event.phase == 'b').unwrap();
    let (busy, idle) = (end.number("busy_ns"), end.number("idle_ns"));
    assert!(busy >= 2_000_000 && idle >= 20_000_000, "{busy} {idle}");
    let first = trace.named("task").filter(|event| event.phase == 'X').map(|event| event.start_ns).min().unwrap();
    assert!(begin.start_ns <= first, "the row begins where the span was entered first");
    assert_eq!(begin.number("id"), 1);
    let threads: std::collections::BTreeSet<u64> =
        trace.named("task").filter(|event| event.phase == 'X').map(|event| event.tid).collect();
    assert_eq!(threads.len(), 2);
}

#[test]
fn a_span_that_is_entered_once_has_no_row() {
    let trace = recorded(|| info_span!("once").in_scope(|| ()));
    let phases: Vec<char> = trace.named("once").map(|event| event.phase).collect();
    assert_eq!(phases, ['X']);
}

#[test]
fn a_part_of_a_program_that_is_entered_again_and_again_has_no_row() {
    let trace = recorded(|| {
        let parts: Vec<Span> = (0..3000).map(|_| info_span!("part")).collect();
        for _ in 0..3 {
            parts.iter().for_each(|part| part.in_scope(|| ()));
        }
    });
    assert!(trace.named("part").all(|event| event.phase == 'X'));
    assert_eq!(trace.count("part"), 9000);
}

#[test]
fn a_number_that_is_used_again_is_another_span() {
    let trace = recorded(|| {
        let first = info_span!("first");
        first.in_scope(|| ());
        let number = first.id();
        drop(first);
        // The registry gives a number again after some thousands of others.
        let mut spans = (0..1 << 20).map(|_| info_span!("second"));
        let second = spans.find(|span| span.id() == number).unwrap();
        second.in_scope(|| ());
    });
    assert_eq!((trace.count("first"), trace.count("second")), (1, 1));
}

#[test]
fn spans_of_two_registries_stay_apart() {
    let trace = recorded(|| {
        let here = info_span!("here");
        let other = tracing_subscriber::registry().with(ferrum_trace::tracing::layer());
        let there = subscriber::with_default(other, || info_span!("there"));
        assert_eq!(here.id(), there.id(), "both registries count from one");
        for _ in 0..2 {
            here.in_scope(|| there.in_scope(|| ()));
        }
    });
    assert_eq!((trace.count("here"), trace.count("there")), (2, 2));
    trace.assert_nested();
}

#[test]
fn events_are_instants_called_by_their_message_or_by_their_place() {
    let trace = recorded(|| {
        info!("first token");
        info!(request = 7, "finished");
    });
    assert_eq!(trace.named("first token").next().unwrap().phase, 'i');
    let placed = trace.recorded().find(|event| event.args.get("message").is_some()).unwrap();
    assert!(placed.name.contains("tests/tracing.rs:"), "{}", placed.name);
    assert_eq!((placed.text("message"), placed.number("request")), ("finished".to_owned(), 7));
}

#[test]
fn a_span_that_was_made_before_recording_began_is_recorded_from_then_on() {
    let subscriber = tracing_subscriber::registry().with(ferrum_trace::tracing::layer());
    subscriber::with_default(subscriber, || {
        let early: Span = span!(tracing::Level::INFO, "early", layer = 5);
        early.in_scope(|| ());
        let trace = recorded_here(|| early.in_scope(|| ()));
        let slices: Vec<u64> = trace.numbers("early", "layer");
        assert_eq!(slices, [5]);
    });
}

/// As [`recorded`], with the subscriber that is there.
fn recorded_here(work: impl FnOnce()) -> TraceFile {
    let _turn = turn();
    let path = std::env::temp_dir().join(format!("ferrum-tracing-{}-early.json", std::process::id()));
    let recorder = Recorder::builder().path(&path).start().unwrap();
    work();
    recorder.finish().unwrap();
    let trace = TraceFile::read(&path);
    std::fs::remove_file(path).unwrap();
    trace
}

#[test]
fn guards_that_are_dropped_in_another_order_spoil_nothing() {
    let trace = recorded(|| {
        let (one, two) = (info_span!("one").entered(), info_span!("two").entered());
        drop(one);
        drop(two);
    });
    assert_eq!((trace.count("one"), trace.count("two")), (1, 1));
    trace.assert_nested();
}
