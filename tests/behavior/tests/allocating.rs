//! Signal handlers that interrupt the allocator and record something for the first time: nothing waits for the
//! allocator, and every event is recorded or counted.

mod common;

use common::{Finished, Stage, recover};
use ferrum_trace_testkit::process::run;

/// Runs a scene that leaves its spool. Checks that every event is recorded, or counted as dropped. Returns the number
/// of dropped events.
#[track_caller]
fn assert_all_is_recorded_or_counted(scene: &str) -> u64 {
    let stage = Stage::new();
    let spool = stage.path("trace.spool");
    let finished: Finished = run(stage.scene(scene).env("FERRUM_TRACE_OUT", &spool)).expect_success();
    let number = |key| finished.number(key);
    assert_eq!(number("recorded") + number("dropped"), number("work") + number("handled"), "{finished}");
    let (trace, summary) = recover(&spool);
    assert_eq!((summary.events, summary.dropped), (number("recorded"), number("dropped")));
    assert_eq!(trace.recorded().count() as u64, number("recorded"));
    number("dropped")
}

#[test]
fn the_first_event_of_a_thread_does_not_allocate() {
    assert_eq!(assert_all_is_recorded_or_counted("first-record-amid-allocation"), 0);
}

#[test]
fn the_first_event_of_a_call_site_does_not_allocate() {
    assert_eq!(assert_all_is_recorded_or_counted("first-sites-amid-allocation"), 0);
}

#[test]
fn the_first_event_of_a_name_does_not_allocate() {
    assert_eq!(assert_all_is_recorded_or_counted("first-names-amid-allocation"), 0);
}

#[test]
fn an_event_that_needs_another_chunk_does_not_allocate() {
    assert_eq!(assert_all_is_recorded_or_counted("new-chunks-amid-allocation"), 0);
}

#[test]
fn the_first_event_of_a_thread_in_another_recording_does_not_allocate() {
    let stage = Stage::new();
    run(&mut stage.scene_without_env("first-record-in-next-recording-amid-allocation")).expect_success();
}

#[test]
fn handlers_of_a_timer_that_interrupt_allocations_never_hang() {
    for _ in 0..32 {
        assert_all_is_recorded_or_counted("timer-on-allocations");
    }
}
