//! Spans of async functions on a runtime with several threads, and spans that are used in unusual ways.
#![cfg(feature = "tracing")]

use ferrum_trace::Recorder;
use ferrum_trace_testkit::trace_file::{Event, TraceFile};
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tracing::{Instrument, Span, info, info_span, instrument, subscriber};
use tracing_subscriber::prelude::*;

/// The recording belongs to the process, so the tests of this file run one at a time.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the trace that is recorded while `work` runs with our layer on all threads.
fn recorded(work: impl FnOnce()) -> TraceFile {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    // Each process of a test runs one test under nextest, and all of them under `cargo test`.
    let _ = subscriber::set_global_default(tracing_subscriber::registry().with(ferrum_trace::tracing::layer()));
    let recorder = Recorder::builder().path(&path).start().unwrap();
    work();
    recorder.finish().unwrap();
    let trace = TraceFile::read(&path);
    trace.assert_nested();
    trace
}

fn run_on_threads(work: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_time().build().unwrap().block_on(work);
}

fn phase<'a>(trace: &'a TraceFile, name: &'a str, phase: char) -> Vec<&'a Event> {
    trace.named(name).filter(|event| event.phase == phase).collect()
}

#[instrument]
async fn bare() {
    inner_without_fields().await;
}

#[instrument]
async fn inner_without_fields() {
    tokio::task::yield_now().await;
    tokio::time::sleep(Duration::from_millis(1)).await;
}

#[instrument(skip_all, fields(request = n))]
async fn handle(n: u64) {
    tokio::task::yield_now().await;
    info!(n, "half");
    tokio::task::yield_now().await;
}

#[test]
fn every_async_call_without_fields_has_a_row() {
    let trace = recorded(|| {
        run_on_threads(async {
            let calls: Vec<_> = (0..40).map(|_| tokio::spawn(bare())).collect();
            for call in calls {
                call.await.unwrap();
            }
        });
    });
    for name in ["bare", "inner_without_fields"] {
        assert_eq!(phase(&trace, name, 'b').len(), 40, "{name}");
        assert_eq!(phase(&trace, name, 'e').len(), 40, "{name}");
        assert!(phase(&trace, name, 'e').iter().all(|end| end.number("busy_ns") > 0), "{name}");
    }
    // Each inner call is drawn in the row of the call around it.
    let rows = |name| phase(&trace, name, 'b').iter().map(|event| event.row()).collect::<BTreeSet<_>>();
    assert_eq!(rows("bare").len(), 40);
    assert_eq!(rows("bare"), rows("inner_without_fields"));
}

#[test]
fn async_calls_with_fields_have_rows_and_their_events_are_inside_them() {
    let trace = recorded(|| {
        run_on_threads(async {
            let calls: Vec<_> = (0..40).map(|n| tokio::spawn(handle(n))).collect();
            for call in calls {
                call.await.unwrap();
            }
        });
    });
    let begins = phase(&trace, "handle", 'b');
    assert_eq!(begins.iter().map(|begin| begin.number("request")).collect::<BTreeSet<_>>(), (0..40).collect());
    let slices = phase(&trace, "handle", 'X');
    assert!(slices.len() >= 3 * 40, "each call is polled three times");
    for half in trace.named("half") {
        let around = slices.iter().find(|slice| {
            slice.tid == half.tid
                && slice.start_ns <= half.start_ns
                && half.start_ns <= slice.end_ns
                && slice.number("request") == half.number("n")
        });
        assert!(around.is_some(), "{half:?}");
    }
    assert_eq!(trace.count("half"), 40);
}

#[test]
fn an_instrumented_future_that_is_polled_later_has_a_row() {
    let trace = recorded(|| {
        run_on_threads(async {
            let work = || async {
                tokio::task::yield_now().await;
            };
            let jobs: Vec<_> = (0..20).map(|n| work().instrument(info_span!("job", n))).collect();
            let jobs: Vec<_> = jobs.into_iter().map(tokio::spawn).collect();
            for job in jobs {
                job.await.unwrap();
            }
        });
    });
    assert_eq!((phase(&trace, "job", 'b').len(), phase(&trace, "job", 'e').len()), (20, 20));
}

#[test]
fn parts_of_a_program_that_are_entered_inside_other_spans_have_no_rows() {
    let trace = recorded(|| {
        let [model, attention, mlp] = [info_span!("model"), info_span!("attention"), info_span!("mlp")];
        for _ in 0..5 {
            model.in_scope(|| {
                attention.in_scope(|| ());
                mlp.in_scope(|| ());
            });
        }
    });
    for name in ["model", "attention", "mlp"] {
        assert_eq!(trace.count(name), 5);
        assert!(trace.named(name).all(|event| event.phase == 'X'), "{name}");
    }
}

#[test]
fn a_span_moves_between_threads_with_its_fields() {
    let trace = recorded(|| {
        let spans: Vec<Span> = (0..100_u64).map(|n| info_span!("moved", n, even = n % 2 == 0)).collect();
        let enter_all = |spans: Vec<Span>| {
            std::thread::spawn(move || {
                spans.iter().for_each(|span| span.in_scope(|| ()));
                spans
            })
        };
        let spans = enter_all(spans).join().unwrap();
        drop(enter_all(spans).join().unwrap());
    });
    let slices = phase(&trace, "moved", 'X');
    let numbers: Vec<u64> = slices.iter().map(|slice| slice.number("n")).collect();
    assert_eq!(numbers, (0..100).chain(0..100).collect::<Vec<u64>>());
    assert!(slices.iter().all(|slice| slice.args["even"] == (slice.number("n") % 2 == 0)));
    assert_eq!((phase(&trace, "moved", 'b').len(), phase(&trace, "moved", 'e').len()), (100, 100));
}

#[test]
fn more_spans_than_slots_are_all_recorded() {
    let trace = recorded(|| {
        let spans: Vec<Span> = (0..5_000_u64).map(|n| info_span!("one of many", n)).collect();
        spans.iter().for_each(|span| span.in_scope(|| ()));
    });
    assert_eq!(trace.numbers("one of many", "n"), (0..5_000).collect::<Vec<u64>>());
}

#[test]
fn a_span_that_is_dropped_while_entered_is_recorded() {
    let trace = recorded(|| {
        let dispatch = tracing::dispatcher::get_default(Clone::clone);
        for is_entered_before in [false, true] {
            let span = info_span!("held", is_entered_before);
            if is_entered_before {
                span.in_scope(|| ());
                span.in_scope(|| ());
            }
            let id = span.id().unwrap();
            dispatch.enter(&id);
            drop(span);
            info_span!("inside").in_scope(|| ());
            dispatch.exit(&id);
        }
    });
    let slices = phase(&trace, "held", 'X');
    assert_eq!(slices.len(), 1 + 3);
    let inside = phase(&trace, "inside", 'X');
    let last = slices.iter().max_by_key(|slice| slice.start_ns).unwrap();
    assert!(last.start_ns <= inside[1].start_ns && inside[1].start_ns <= last.end_ns);
    assert_eq!((phase(&trace, "held", 'b').len(), phase(&trace, "held", 'e').len()), (1, 1));
}

#[test]
fn an_arrow_leads_to_a_span_that_follows_from_another() {
    let trace = recorded(|| {
        let cause = info_span!("cause");
        let effect = info_span!(parent: None, "effect");
        cause.in_scope(|| effect.follows_from(&cause));
        drop(cause);
        std::thread::spawn(move || effect.in_scope(|| ())).join().unwrap();
    });
    let [start, end] = ['s', 'f'].map(|phase| trace.recorded().find(|event| event.phase == phase).unwrap());
    let is_in = |event: &Event, name| {
        let slice = phase(&trace, name, 'X')[0];
        slice.tid == event.tid && (slice.start_ns..=slice.end_ns).contains(&event.start_ns)
    };
    assert!(is_in(start, "cause"), "{start:?}");
    assert!(is_in(end, "effect"), "{end:?}");
}

#[test]
fn values_recorded_inside_a_span_are_in_its_slice() {
    let trace = recorded(|| {
        let span = info_span!("request", id = 7_u64, tokens = tracing::field::Empty);
        span.in_scope(|| span.record("tokens", 12));
        span.in_scope(|| span.record("tokens", 13));
    });
    let tokens: Vec<u64> = phase(&trace, "request", 'X').iter().map(|slice| slice.number("tokens")).collect();
    assert_eq!(tokens, [12, 13]);
}
