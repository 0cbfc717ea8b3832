//! Open spans are in the trace, with their begin and their position in the stack, marked as unfinished.

mod common;

use common::{Stage, TraceFile, recover};
use ferrum_trace_testkit::process::{Running, run};
use std::collections::BTreeMap;

/// Runs a scene until it reports that it is ready, and kills it.
#[track_caller]
fn kill_when_ready(stage: &Stage, name: &str, rotate: Option<&str>) {
    let mut command = stage.scene(name);
    if let Some(rotate) = rotate {
        command.env("FERRUM_TRACE_ROTATE", rotate);
    }
    let mut scene = Running::start(&mut command);
    scene.wait_for_line("ready");
    scene.kill();
    scene.finish().expect_signal(libc::SIGKILL);
}

/// The names of unfinished slices, from the outside in.
fn unfinished(trace: &TraceFile) -> Vec<&str> {
    trace.unfinished().map(|event| event.name.as_str()).collect()
}

/// Checks the open spans of a scene.
#[track_caller]
fn assert_has_stuck_kernel(trace: &TraceFile) {
    assert_eq!(unfinished(trace), ["decode", "layer", "stuck_kernel"]);
    let slices: BTreeMap<_, _> = trace.unfinished().map(|event| (event.name.as_str(), event)).collect();
    let (step, layer, op) = (slices["decode"], slices["layer"], slices["stuck_kernel"]);
    assert_eq!((step.number("batch"), step.number("context_tokens"), layer.number("layer")), (8, 512, 17));
    assert_eq!((op.number("m"), op.text("kernel")), (4096, "a name of more than seven bytes".into()));
    assert!(step.start_ns < layer.start_ns && layer.start_ns < op.start_ns && op.start_ns < op.end_ns);
    let ended = trace.named("ended in the step").next().unwrap();
    assert!(step.start_ns < ended.start_ns && ended.end_ns <= layer.start_ns && ended.tid == op.tid);
    assert_eq!(trace.about("unfinished"), 3);
    assert_eq!(trace.about("recorded") as usize, trace.recorded().count());
    trace.assert_nested();
}

#[test]
fn open_spans_of_a_hanging_thread_are_in_the_trace_after_kill_9() {
    let stage = Stage::new();
    kill_when_ready(&stage, "hang-inside", None);
    let (trace, summary) = recover(&stage.path("trace.json.spool"));
    assert_has_stuck_kernel(&trace);
    let [(_, stack)] = &summary.recording.unfinished_by_thread[..] else { panic!("one thread") };
    assert_eq!(stack, "decode > layer > stuck_kernel");
    assert_eq!((summary.recording.unfinished, summary.events), (3, 2));
}

#[test]
fn the_very_first_span_is_in_the_trace_after_kill_9() {
    let stage = Stage::new();
    kill_when_ready(&stage, "hang-in-first-span", None);
    let (trace, summary) = recover(&stage.path("trace.json.spool"));
    assert_eq!((unfinished(&trace), summary.events), (vec!["first"], 0));
    assert_eq!(trace.thread_names().len(), 1);
}

#[test]
fn spans_that_are_open_at_exit_are_in_the_trace() {
    let stage = Stage::new();
    stage.run("exit-inside").expect_code(3);
    assert_has_stuck_kernel(&stage.finished_trace());
}

#[test]
fn spans_that_are_open_at_abort_are_in_the_trace() {
    let stage = Stage::new();
    stage.run("abort-inside").expect_signal(libc::SIGABRT);
    assert_has_stuck_kernel(&recover(&stage.path("trace.json.spool")).0);
}

#[test]
fn spans_that_are_open_at_a_flush_are_unfinished_until_they_end() {
    let stage = Stage::new();
    let mut scene = stage.start("flush-inside");
    scene.wait_for_line("ready");
    assert_has_stuck_kernel(&TraceFile::read(&stage.trace()));
    scene.tell("end");
    scene.finish().expect_success();
    let trace = stage.finished_trace();
    assert_eq!(trace.unfinished().count(), 0);
    assert!(["decode", "layer", "stuck_kernel"].iter().all(|name| trace.count(name) == 1));
}

#[test]
fn spans_that_are_open_when_a_recorder_finishes_are_in_the_trace() {
    let stage = Stage::new();
    run(&mut stage.scene_without_env("finish-inside")).expect_success();
    assert_has_stuck_kernel(&TraceFile::read(&stage.trace()));
}

#[test]
fn spans_that_are_open_at_a_stop_are_in_that_recording_only() {
    let stage = Stage::new();
    stage.run("stop-inside").expect_success();
    assert_has_stuck_kernel(&TraceFile::read(&stage.trace()));
    assert_eq!(TraceFile::read(&stage.path("second.json")).unfinished().count(), 0);
}

#[test]
fn spans_that_are_open_at_a_dump_are_in_the_dump() {
    let stage = Stage::new();
    run(stage.scene("dump-inside").env("FERRUM_TRACE_RING", "1MiB")).expect_success();
    let dump = TraceFile::read(&stage.path("trace.dump-001.json"));
    assert_eq!(unfinished(&dump), ["decode", "layer", "stuck_kernel"]);
    dump.assert_nested();
}

#[test]
fn deeply_nested_spans_are_all_in_the_trace() {
    let stage = Stage::new();
    kill_when_ready(&stage, "hang-deep", None);
    let (trace, _) = recover(&stage.path("trace.json.spool"));
    let levels: Vec<u64> = trace.unfinished().map(|event| event.number("level")).collect();
    assert_eq!(levels, (1..=40).collect::<Vec<_>>());
    trace.assert_nested();
}

#[test]
fn dynamic_spans_and_laps_are_in_the_trace() {
    let stage = Stage::new();
    kill_when_ready(&stage, "hang-in-other-spans", None);
    let (trace, _) = recover(&stage.path("trace.json.spool"));
    assert_eq!(unfinished(&trace), ["made at run time", "laps", "inner"]);
    assert!(["attention", "outer"].iter().all(|name| trace.count(name) == 1));
    trace.assert_nested();
}

#[test]
fn open_spans_are_in_the_trace_with_the_slow_clock() {
    let stage = Stage::new();
    let mut scene = Running::start(stage.scene("hang-inside").env("FERRUM_TRACE_CLOCK", "monotonic"));
    scene.wait_for_line("ready");
    scene.kill();
    scene.finish().expect_signal(libc::SIGKILL);
    assert_has_stuck_kernel(&recover(&stage.path("trace.json.spool")).0);
}

#[test]
fn spans_that_are_open_across_a_rotation_are_unfinished_in_the_last_file_only() {
    let stage = Stage::new();
    kill_when_ready(&stage, "hang-while-rotating", Some("1MiB"));
    // The first file may not be complete yet.
    let first = match stage.path("trace.001.json").exists() {
        true => TraceFile::read(&stage.path("trace.001.json")),
        false => recover(&stage.path("trace.001.json.spool")).0,
    };
    assert_eq!(first.unfinished().count(), 0);
    let (second, _) = recover(&stage.path("trace.002.json.spool"));
    let mut names = unfinished(&second);
    names.sort_unstable();
    assert_eq!(names, ["decode", "layer", "main loop", "stuck_kernel"]);
    let engine = second.tid_of("engine");
    assert!(second.unfinished().all(|event| (event.tid == engine) == (event.name != "main loop")));
}

#[test]
fn a_thread_that_continues_after_a_rotation_ends_its_spans() {
    let stage = Stage::new();
    kill_when_ready(&stage, "continue-after-rotation", Some("1MiB"));
    let (second, _) = recover(&stage.path("trace.002.json.spool"));
    assert_eq!(unfinished(&second), ["next"]);
    assert!(["decode", "layer", "stuck_kernel"].iter().all(|name| second.count(name) == 1));
    second.assert_nested();
}
