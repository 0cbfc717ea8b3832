//! A program that starts a recording itself gets no error if the environment starts one too.

mod common;

use common::{Finished, Stage, TraceFile};
use ferrum_trace_testkit::process;

#[track_caller]
fn assert_override_is_reported_once(finished: &Finished) {
    let lines: Vec<&str> = finished.stderr.lines().collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].contains("trace.json: recorded because of FERRUM_TRACE_OUT; the program's own recording"),
        "{lines:?}"
    );
    assert!(lines[0].ends_with("own.json) is not begun"), "{lines:?}");
}

#[test]
fn the_environment_overrides_the_builder_without_an_error() {
    for (scene, first, n_recorded) in [("start-own", 11, 10), ("record-then-start-own", 1, 20)] {
        let stage = Stage::new();
        let finished = stage.run(scene).expect_success();
        assert_override_is_reported_once(&finished);
        assert_eq!((finished.answer("environment"), finished.number("recorded")), ("true", n_recorded));
        assert!(finished.answer("path").ends_with("/trace.json"));
        assert_eq!(stage.files(), ["trace.json".to_owned()].into());
        assert_eq!(stage.finished_trace().numbers("work", "n"), (first..=20).collect::<Vec<_>>());
    }
}

#[test]
fn the_trace_is_complete_if_the_handle_is_never_finished() {
    let stage = Stage::new();
    assert_override_is_reported_once(&stage.run("start-own-and-exit").expect_success());
    assert_eq!(stage.finished_trace().numbers("work", "n").len(), 10);
}

#[test]
fn the_builder_records_without_the_environment() {
    let stage = Stage::new();
    let finished = process::run(&mut stage.scene_without_env("start-own")).expect_success();
    assert_eq!((finished.answer("environment"), finished.stderr.as_str()), ("false", ""));
    assert_eq!(TraceFile::read(&stage.path("own.json")).numbers("work", "n").len(), 10);
}

#[test]
fn a_program_can_record_after_the_recording_of_the_environment_but_only_one_at_a_time() {
    let stage = Stage::new();
    let finished = stage.run("start-own-twice").expect_success();
    assert_eq!(finished.answers("environment").collect::<Vec<_>>(), ["true", "false"]);
    assert_eq!(finished.answer("refused"), "true");
    assert_eq!(stage.files(), ["own.json".to_owned(), "trace.json".to_owned()].into());
    assert_eq!(TraceFile::read(&stage.path("own.json")).numbers("work", "n").len(), 5);
}

#[test]
fn flows_lead_from_and_to_dynamic_spans() {
    let stage = Stage::new();
    stage.run("flows-of-dynamic-spans").expect_success();
    let trace = stage.finished_trace();
    let phases: Vec<char> = trace.recorded().map(|event| event.phase).collect();
    assert_eq!(phases, ['s', 'X', 't', 'X', 'f', 'X']);
}
