//! Spans and events of `tracing` in a recording.
#![cfg(feature = "tracing")]

use ferrum_trace::Recorder;
use ferrum_trace_testkit::trace_file::{Event, TraceFile};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tracing::{Span, field, info, info_span, span, subscriber};
use tracing_subscriber::prelude::*;

/// The recording belongs to the process, so the tests of this file run one at a time.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the trace that is recorded while `work` runs.
fn recorded(work: impl FnOnce()) -> TraceFile {
    recorded_and_kept(work, |_, _| {})
}

/// Copies a trace for the check in the viewers, see CONTRIBUTING.md.
fn leave_for_viewers(path: &Path, trace: &TraceFile) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("viewer-check");
    std::fs::create_dir_all(&folder).unwrap();
    let n_slices = trace.events.iter().filter(|event| matches!(event.phase, 'X' | 'b' | 'n' | 'i')).count();
    std::fs::copy(path, folder.join("tracing-tasks.json")).unwrap();
    std::fs::write(folder.join("tracing-tasks.json.expect"), format!("slices={n_slices}\nunended=0\n")).unwrap();
}

/// Like [`recorded`]; calls `keep` with the file before it is removed.
fn recorded_and_kept(work: impl FnOnce(), keep: impl FnOnce(&Path, &TraceFile)) -> TraceFile {
    let _turn = turn();
    let folder =
        std::env::temp_dir().join(format!("ferrum-tracing-{}-{:?}", std::process::id(), std::thread::current().id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("trace.json");
    let recorder = Recorder::builder().path(&path).start().unwrap();
    subscriber::with_default(tracing_subscriber::registry().with(ferrum_trace::tracing::layer()), work);
    recorder.finish().unwrap();
    let trace = TraceFile::read(&path);
    keep(&path, &trace);
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
fn fields_without_a_value_are_left_out_and_later_values_are_recorded() {
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
fn a_span_that_waits_has_a_row_with_its_busy_and_idle_time() {
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
    assert!(begin.start_ns <= first, "the row begins at the first entry of the span");
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
fn a_span_without_fields_that_one_thread_enters_repeatedly_has_no_row() {
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
fn a_reused_span_number_is_a_different_span() {
    let trace = recorded(|| {
        let first = info_span!("first");
        first.in_scope(|| ());
        let number = first.id();
        drop(first);
        // The registry reuses a number after some thousands of others.
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
fn events_are_instants_named_by_message_or_source_location() {
    let trace = recorded(|| {
        info!("first token");
        info!(request = 7, "finished");
        info!(request = 8, tokens = 12, "finished after {} ms", 31);
        info!(request = 9);
        info!(request = 10, "");
        info!(request = 11, "{}\nsecond line", "long ".repeat(100));
    });
    assert_eq!(trace.named("first token").next().unwrap().phase, 'i');
    let finished = trace.named("finished").next().unwrap();
    assert_eq!((finished.phase, finished.category.as_str()), ('i', "tracing"));
    assert_eq!((finished.text("message"), finished.number("request")), ("finished".to_owned(), 7));
    let formatted = trace.named("finished after 31 ms").next().unwrap();
    assert_eq!((formatted.number("request"), formatted.number("tokens")), (8, 12));
    let of_request = |n: u64| trace.recorded().find(|event| event.args.get("request") == Some(&n.into())).unwrap();
    for n in [9, 10] {
        assert!(of_request(n).name.contains("tests/tracing.rs:"), "{}", of_request(n).name);
    }
    let long = of_request(11);
    assert_eq!((long.name.chars().count(), long.name.lines().count()), (121, 1));
    assert!(long.name.starts_with("long long ") && long.name.ends_with('…'));
    assert!(long.text("message").ends_with("\nsecond line"));
}

#[test]
fn events_are_named_by_source_location_once_the_name_table_is_full() {
    let n_events = 70_000;
    let trace = recorded(|| (0..n_events).for_each(|n| info!(n, "message {n}")));
    let (named, placed): (Vec<_>, Vec<_>) = trace.recorded().partition(|event| event.name.starts_with("message "));
    assert!(named.len() < n_events && !placed.is_empty());
    assert_eq!(named.len() + placed.len(), n_events);
    assert!(placed.iter().all(|event| event.text("message") == format!("message {}", event.number("n"))));
}

/// Enters nested spans as an executor does when it polls a future.
fn poll(spans: &[&Span]) {
    let [span, inner @ ..] = spans else { return };
    span.in_scope(|| poll(inner));
}

/// Returns the async begins of a name.
fn begins<'a>(trace: &'a TraceFile, name: &'a str) -> Vec<&'a Event> {
    trace.named(name).filter(|event| event.phase == 'b').collect()
}

#[test]
fn a_task_is_drawn_in_the_row_of_the_request_that_it_is_part_of() {
    let trace = recorded(|| {
        let request = info_span!(target: "server", "request", request_id = 42, user = "x");
        poll(&[&request]);
        for name in ["first", "second"] {
            let query = info_span!(target: "database", parent: &request, "query", name);
            let send = info_span!(parent: &query, "send", bytes = 7);
            (0..3).for_each(|_| poll(&[&request, &query, &send]));
        }
        poll(&[&request]);
    });
    let request = begins(&trace, "request")[0];
    assert_eq!((begins(&trace, "query").len(), begins(&trace, "send").len()), (2, 2));
    for event in begins(&trace, "query").into_iter().chain(begins(&trace, "send")) {
        assert_eq!(event.row(), request.row(), "{event:?}");
        assert!(event.start_ns > request.start_ns);
    }
    assert_eq!(begins(&trace, "query")[0].text("target"), "database");
    let titles = trace.row_titles();
    assert_eq!(titles.len(), 1);
    assert_eq!(titles[&request.row()], [("request 42".to_owned(), "request".to_owned())]);
}

#[test]
fn concurrent_tasks_of_a_request_have_separate_rows() {
    let work = || {
        let request = info_span!("request", request = "abc");
        poll(&[&request]);
        let fetches: Vec<Span> = (0..3).map(|id| info_span!(parent: &request, "fetch", id)).collect();
        let parse = info_span!(parent: &fetches[1], "parse", bytes = 1);
        (0..2).for_each(|_| fetches.iter().for_each(|fetch| poll(&[&request, fetch])));
        (0..2).for_each(|_| poll(&[&request, &fetches[1], &parse]));
        drop(fetches);
        drop(parse);
        let last = info_span!(parent: &request, "last", id = 9);
        (0..2).for_each(|_| poll(&[&request, &last]));
    };
    let trace = recorded_and_kept(work, leave_for_viewers);
    let request = begins(&trace, "request")[0].row();
    let fetches: Vec<_> = begins(&trace, "fetch").iter().map(|fetch| fetch.row()).collect();
    assert_eq!(fetches[0], request);
    assert!(fetches[1] != request && fetches[2] != request && fetches[1] != fetches[2], "{fetches:?}");
    assert_eq!(begins(&trace, "parse")[0].row(), fetches[1], "it is part of the second fetch");
    assert_eq!(begins(&trace, "last")[0].row(), request, "the row is free again");
    let titles = trace.row_titles();
    let title = |row| titles[row].iter().map(|(title, name)| (title.as_str(), name.as_str())).collect::<Vec<_>>();
    assert_eq!(title(&request), [("request abc", "request")]);
    assert_eq!(title(&fetches[1]), [("request abc / fetch 1", "fetch")]);
    assert_eq!(title(&fetches[2]), [("request abc / fetch 2", "fetch")]);
}

#[test]
fn a_request_that_waits_for_its_task_has_a_row_around_it() {
    let trace = recorded(|| {
        let scope = info_span!("server").entered();
        let request = info_span!("request", path = "/");
        poll(&[&request]);
        let task = info_span!(parent: &request, "task", n = 1);
        (0..2).for_each(|_| poll(&[&task]));
        drop((task, request));
        drop(scope);
    });
    assert_eq!(begins(&trace, "task")[0].row(), begins(&trace, "request")[0].row());
    assert!(begins(&trace, "server").is_empty(), "a span that was never left has no row");
    assert_eq!(trace.row_titles().values().flatten().count(), 0, "the request has no id");
}

#[test]
fn overlapping_tasks_have_different_rows() {
    let trace = recorded(|| {
        let request = info_span!("request", id = 1);
        poll(&[&request]);
        let [early, late] = ["early", "late"].map(|name| info_span!(parent: &request, "task", name));
        poll(&[&request, &early]);
        poll(&[&request, &late]);
        // `late` becomes a task before `early` does, and has ended when `early` becomes one.
        poll(&[&request, &late]);
        drop(late);
        poll(&[&request, &early]);
    });
    let rows: Vec<_> = begins(&trace, "task").iter().map(|task| task.row()).collect();
    assert_ne!(rows[0], rows[1]);
    trace.row_titles();
}

#[test]
fn rows_nest_in_whatever_order_threads_enter_the_spans() {
    let trace = recorded(|| {
        let dispatch = tracing::dispatcher::get_default(Clone::clone);
        let work = |n: u64| {
            tracing::dispatcher::with_default(&dispatch, || {
                let request = info_span!("request", id = n);
                poll(&[&request]);
                let tasks: Vec<Span> = (0..4).map(|n| info_span!(parent: &request, "task", n)).collect();
                std::thread::scope(|scope| {
                    for task in tasks {
                        let dispatch = &dispatch;
                        let request = &request;
                        scope.spawn(move || {
                            tracing::dispatcher::with_default(dispatch, || {
                                let inner = info_span!(parent: &task, "inner", n = 1);
                                (0..3).for_each(|_| poll(&[request, &task, &inner]));
                            });
                        });
                    }
                });
            });
        };
        std::thread::scope(|scope| {
            (0..4).for_each(|n| drop(scope.spawn(move || (0..10).for_each(|m| work(10 * n + m)))))
        });
    });
    trace.row_titles();
    assert_eq!(begins(&trace, "request").len(), 40);
    assert_eq!((begins(&trace, "task").len(), begins(&trace, "inner").len()), (160, 160));
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

/// Like [`recorded`], with the current subscriber.
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
fn guards_dropped_in_another_order_still_give_nested_slices() {
    let trace = recorded(|| {
        let (one, two) = (info_span!("one").entered(), info_span!("two").entered());
        drop(one);
        drop(two);
    });
    assert_eq!((trace.count("one"), trace.count("two")), (1, 1));
    trace.assert_nested();
}
