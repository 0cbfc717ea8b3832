//! Programs that end by themselves leave a complete file, without a guard or a call at the end.

mod common;

use common::{Stage, TraceFile, assert_counts_up};

/// Runs a scene that records `work` from 1 to `n_work`, ends with `code`, and leaves only its trace.
#[track_caller]
fn assert_complete(scene: &str, code: i32, n_work: usize) -> TraceFile {
    let stage = Stage::new();
    stage.run(scene).expect_code(code);
    let trace = stage.finished_trace();
    let work = trace.numbers("work", "n");
    assert_counts_up(&work);
    assert_eq!(work.len(), n_work);
    assert_eq!(trace.about("recorded") as usize, trace.recorded().count());
    assert_eq!(trace.about("dropped"), 0);
    trace.assert_nested();
    trace
}

#[test]
fn the_file_is_complete_after_return_from_main() {
    let trace = assert_complete("return", 0, 100);
    assert_eq!(trace.count("whole"), 1);
}

#[test]
fn the_file_is_complete_after_exit() {
    let trace = assert_complete("exit", 3, 100);
    assert_eq!(trace.count("never dropped"), 0);
}

#[test]
fn the_file_is_complete_after_exit_on_another_thread() {
    assert_complete("exit-on-another-thread", 3, 100);
}

#[test]
fn the_file_is_complete_after_exit_on_two_threads_at_once() {
    assert_complete("exit-on-two-threads", 3, 100);
}

#[test]
fn the_file_is_complete_after_a_panic_on_the_main_thread() {
    let trace = assert_complete("panic", 101, 100);
    assert_eq!(trace.count("unwound"), 1);
}

#[test]
fn the_file_is_complete_after_a_panic_on_another_thread() {
    let trace = assert_complete("panic-on-another-thread", 0, 200);
    let unwound: Vec<u64> = trace.named("unwound").map(|event| event.tid).collect();
    assert_eq!(unwound, [trace.tid_of("panics")]);
}

#[test]
fn the_exit_takes_over_pending_writes_on_a_busy_machine() {
    for scene in ["busy-stop", "busy-flush"] {
        assert_complete(scene, 0, 20_000);
    }
}

#[test]
fn the_exit_writes_a_pending_dump_on_a_busy_machine() {
    let stage = Stage::new();
    let mut command = stage.scene("busy-dump");
    command.env("FERRUM_TRACE_RING", "4MiB").env("FERRUM_TRACE_DUMPS", "after=0s");
    ferrum_trace_testkit::process::run(&mut command).expect_success();
    let files: Vec<String> = stage.files().into_iter().collect();
    assert_eq!(files, ["trace.dump-001.json", "trace.json"]);
    let dump = TraceFile::read(&stage.path("trace.dump-001.json"));
    let reasons: Vec<String> = dump.named("trigger").map(|event| event.text("reason")).collect();
    assert_eq!((dump.count("work"), reasons), (20_000, vec!["busy".to_owned()]));
}

#[test]
fn threads_that_still_run_at_exit_lose_no_earlier_events() {
    let stage = Stage::new();
    let finished = stage.run("threads-still-running").expect_success();
    let done: Vec<usize> = serde_json::from_str(finished.answer("done")).unwrap();
    let trace = stage.finished_trace();
    for (worker, &done) in done.iter().enumerate() {
        let numbers = trace.numbers_on(trace.tid_of(&format!("worker {worker}")), "work", "n");
        assert_counts_up(&numbers);
        assert!(numbers.len() >= done, "worker {worker} had recorded {done}, {} are in the file", numbers.len());
    }
    trace.assert_nested();
}

#[test]
fn ended_threads_are_in_the_file() {
    let trace = assert_complete("threads-ended", 0, 1000);
    for n in 0..100 {
        let tid = trace.tid_of(&format!("gone {n}"));
        assert_eq!(trace.named("work").filter(|event| event.tid == tid).count(), 10);
    }
}

#[test]
fn no_events_are_lost_while_another_thread_starts_the_recorder() {
    assert_complete("threads-at-once", 0, 4000);
}

#[test]
fn thousands_of_short_threads_share_a_small_spool() {
    const MIB: u64 = 1 << 20;
    let stage = Stage::new();
    let finished = stage.run("many-threads").expect_success();
    let trace = stage.finished_trace();
    assert_counts_up(&trace.numbers("work", "n"));
    assert_eq!(trace.count("work"), 15_000);
    assert_eq!(finished.number("threads"), 5000);
    // The recorder reserves up to 24 MiB. One chunk per thread would be 160 MiB.
    assert!(finished.number("bytes") <= 32 * MIB, "{} bytes", finished.number("bytes"));
}

/// Runs a scene and checks that each event that it recorded late is in the file, or counted there as dropped.
#[track_caller]
fn assert_late_events_are_there(scene: &str, n_work: usize, n_late: u64) {
    let stage = Stage::new();
    stage.run(scene).expect_success();
    let trace = stage.finished_trace();
    assert_eq!(trace.count("work"), n_work);
    assert_eq!(stage.counters(), [n_late]);
    assert_eq!(trace.count("late") as u64 + trace.about("dropped"), n_late);
    assert_eq!(trace.about("recorded") as usize, trace.recorded().count());
    trace.assert_nested();
}

#[test]
fn events_from_destructors_of_thread_locals_are_recorded_or_counted() {
    assert_late_events_are_there("thread-locals", 10 * 101, 2 * 5 * 101);
}

#[test]
fn events_of_threads_that_record_only_in_destructors_are_recorded_or_counted() {
    assert_late_events_are_there("thread-locals-only", 0, 5 * 51);
}

#[test]
fn events_from_exit_handlers_are_recorded_or_counted() {
    assert_late_events_are_there("exit-handlers", 10, 2 * 5);
}

#[test]
fn events_from_exit_handlers_after_an_exit_on_another_thread_are_recorded_or_counted() {
    // Destructors of thread-locals run on the thread that exits, not on the main thread.
    assert_late_events_are_there("exit-handlers-after-exit", 10, 3 * 5);
}
