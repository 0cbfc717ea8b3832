//! Signal handlers that record, at any point of the program: their events are recorded or counted, and nothing hangs,
//! crashes or is torn.

mod common;

use common::{Stage, TraceFile, recover};
use ferrum_trace_testkit::process::{Finished, run};

/// Runs a scene that leaves its spool, so that damage in it is detected. Checks that every event is recorded or counted
/// as dropped, and that only handlers have dropped events.
#[track_caller]
fn assert_all_is_recorded_or_counted(scene: &str, clock: &str) -> (Finished, TraceFile) {
    let stage = Stage::new();
    let spool = stage.path("trace.spool");
    let mut command = stage.scene(scene);
    let command = command.env("FERRUM_TRACE_OUT", &spool).env("FERRUM_TRACE_CLOCK", clock);
    let finished = run(command).expect_success();
    let (work, handled) = (finished.number("work"), finished.number("handled"));
    let (recorded, dropped) = (finished.number("recorded"), finished.number("dropped"));
    assert_eq!(recorded + dropped, work + handled, "{finished}");
    let (trace, summary) = recover(&spool);
    assert_eq!((summary.events, summary.dropped), (recorded, dropped));
    assert_eq!(trace.recorded().count() as u64, recorded);
    // The interrupted code has lost nothing: only handlers have losses.
    assert!(dropped <= handled, "{finished}");
    if scene == "interrupt-every-instruction" {
        trace.assert_nested();
    }
    // With many signals, a thread may change its core between reading the clock and being interrupted, and the counter
    // of the other core may be some nanoseconds behind: then a slice of the handler can cross one of the thread's.
    (finished, trace)
}

#[test]
fn a_handler_that_interrupts_recording_at_any_instruction_is_recorded_or_counted() {
    let (finished, trace) = assert_all_is_recorded_or_counted("interrupt-every-instruction", "ticks");
    let (work, handled, dropped) = (finished.number("work"), finished.number("handled"), finished.number("dropped"));
    assert_eq!(trace.count("work") as u64, work - 1);
    assert_eq!(trace.count("handler") as u64 + dropped, handled + 1);
    if finished.answer("stepped") == "true" {
        // Some instructions belong to the recorder, most do not.
        assert!(handled > 1000 && dropped > 100 && trace.count("handler") > 100, "{finished}");
    }
}

#[test]
fn with_the_slow_clock_a_handler_at_any_instruction_is_recorded_or_counted() {
    let (finished, trace) = assert_all_is_recorded_or_counted("interrupt-every-instruction", "monotonic");
    assert_eq!(trace.count("work") as u64, finished.number("work") - 1);
}

#[test]
fn a_handler_that_interrupts_the_first_event_of_a_thread_is_recorded_or_counted() {
    let (finished, trace) = assert_all_is_recorded_or_counted("interrupt-the-first-record", "ticks");
    assert_eq!(trace.count("work") as u64, finished.number("work"));
}

#[test]
fn a_handler_that_interrupts_the_end_of_a_thread_is_recorded_or_counted() {
    let (finished, trace) = assert_all_is_recorded_or_counted("interrupt-the-end-of-a-thread", "ticks");
    assert_eq!(trace.count("work") as u64, finished.number("work") - 1);
}

#[test]
fn handlers_of_many_signals_are_recorded_or_counted() {
    for clock in ["ticks", "monotonic"] {
        let (finished, trace) = assert_all_is_recorded_or_counted("storm", clock);
        assert_eq!(trace.count("work") as u64, finished.number("work") - 1);
    }
}

#[test]
fn handlers_that_interrupt_each_other_are_recorded_or_counted() {
    let (finished, trace) = assert_all_is_recorded_or_counted("storm-of-two-signals", "ticks");
    assert_eq!(trace.count("work") as u64, finished.number("work"));
}

#[test]
fn handlers_that_interrupt_flushes_are_recorded_or_counted() {
    assert_all_is_recorded_or_counted("storm-on-flushes", "ticks");
}

#[test]
fn handlers_that_interrupt_flushes_with_new_names_are_recorded_or_counted() {
    assert_all_is_recorded_or_counted("storm-on-flushes-by-new-names", "ticks");
}

#[test]
fn handlers_that_interrupt_flushes_to_json_are_recorded_or_counted() {
    let stage = Stage::new();
    let finished = stage.run("storm-on-flushes").expect_success();
    let trace = stage.finished_trace();
    assert_eq!(trace.recorded().count() as u64, finished.number("recorded"));
    trace.assert_nested();
}

#[test]
fn handlers_that_interrupt_allocations_are_recorded_or_counted() {
    assert_all_is_recorded_or_counted("storm-on-allocations", "ticks");
}

#[test]
fn handlers_that_interrupt_forks_are_recorded_or_counted() {
    assert_all_is_recorded_or_counted("storm-on-forks", "ticks");
}

#[test]
fn handlers_of_the_profiling_timer_are_recorded_or_counted() {
    assert_all_is_recorded_or_counted("timer", "ticks");
}

#[test]
fn handlers_that_interrupt_the_end_of_a_recording_damage_no_file() {
    let stage = Stage::new();
    let finished = run(&mut stage.scene_without_env("storm-on-restarts")).expect_success();
    let recorded: Vec<&str> = finished.answers("again").collect();
    assert_eq!(recorded.len(), 20);
    for line in recorded {
        let (n, recorded) = line.split_once(' ').unwrap();
        let trace = TraceFile::read(&stage.path(&format!("again.{n}.json")));
        assert_eq!(trace.numbers("work", "n"), (1..=200).collect::<Vec<u64>>());
        assert_eq!(trace.recorded().count().to_string(), recorded);
        trace.assert_nested();
    }
}
