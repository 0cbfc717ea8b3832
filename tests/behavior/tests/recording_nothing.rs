//! A process that records nothing does not touch an existing trace, whatever it calls and however it ends.

mod common;

use common::{Finished, Stage, TraceFile, assert_counts_up, recover};
use ferrum_trace_testkit::process;
use std::path::{Path, PathBuf};

const CALLS: [&str; 13] = [
    "flush_global_trace",
    "is_on",
    "flush",
    "finish",
    "global writer",
    "control flush",
    "control stop",
    "pause",
    "process name",
    "thread name",
    "writer",
    "writer of environment",
    "recorder",
];
const FORMS: [&str; 5] = ["trace.json", "trace.json.gz", "trace.json.zst", "trace.pftrace", "trace.spool"];

fn run_scene(stage: &Stage, path: &Path, scene: &[&str]) -> Finished {
    let mut command = stage.scene(scene[0]);
    command.args(&scene[1..]).env("FERRUM_TRACE_OUT", path).env_remove("RUST_BACKTRACE");
    if scene.contains(&"recorder") {
        command.arg(path).env_remove("FERRUM_TRACE_OUT");
    }
    process::run(&mut command)
}

/// Creates a trace of at least 100 spans; returns its path and content.
fn existing(stage: &Stage, name: &str) -> (PathBuf, Vec<u8>) {
    let path = stage.path(name);
    run_scene(stage, &path, &["return"]).expect_success();
    let bytes = std::fs::read(&path).unwrap();
    assert!(bytes.len() > 500, "{name}: {} bytes", bytes.len());
    (path, bytes)
}

#[test]
fn a_trace_of_any_format_survives_every_call_of_a_process_that_records_nothing() {
    for name in FORMS {
        let stage = Stage::new();
        let (path, before) = existing(&stage, name);
        for call in CALLS {
            run_scene(&stage, &path, &["record-nothing", call, "return"]).expect_success();
            assert!(std::fs::read(&path).unwrap() == before, "{name} has changed after `{call}`");
            assert_eq!(stage.files(), [name.to_owned()].into(), "after `{call}`");
        }
    }
}

#[test]
fn a_trace_survives_every_end_of_a_process_that_records_nothing() {
    for name in ["trace.json", "trace.spool"] {
        for (end, code) in [("return", Some(0)), ("exit", Some(3)), ("panic", Some(101)), ("abort", None)] {
            let stage = Stage::new();
            let (path, before) = existing(&stage, name);
            for call in ["flush", "is_on", "global writer"] {
                let finished = run_scene(&stage, &path, &["record-nothing", call, end]);
                assert_eq!(finished.status.code(), code, "{finished:?}");
                assert!(std::fs::read(&path).unwrap() == before, "{name} has changed after `{call}` and `{end}`");
            }
        }
    }
}

#[test]
fn flush_global_trace_without_events_creates_no_file() {
    let stage = Stage::new();
    let finished =
        run_scene(&stage, &stage.trace(), &["record-nothing", "flush_global_trace", "return"]).expect_success();
    assert_eq!((finished.stderr.as_str(), stage.files().len()), ("", 0));
}

#[test]
fn a_process_without_events_reports_that_the_file_is_an_older_one() {
    let stage = Stage::new();
    let (path, _) = existing(&stage, "trace.json");
    let finished = run_scene(&stage, &path, &["record-nothing", "is_on", "return"]).expect_success();
    let lines: Vec<&str> = finished.stderr.lines().collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].ends_with("trace.json: nothing was recorded; the file that was there is left as it is"),
        "{lines:?}"
    );
}

#[test]
fn a_process_that_flushes_first_and_records_later_replaces_the_trace() {
    for name in FORMS {
        let stage = Stage::new();
        let (path, before) = existing(&stage, name);
        run_scene(&stage, &path, &["flush-then-record"]).expect_success();
        assert!(std::fs::read(&path).unwrap() != before, "{name}");
        assert_eq!(stage.files(), [name.to_owned()].into());
        match name {
            "trace.json" => assert_counts_up(&TraceFile::read(&path).numbers("work", "n")),
            "trace.spool" => assert_counts_up(&recover(&path).0.numbers("work", "n")),
            _ => {}
        }
    }
}

#[test]
fn a_kill_before_the_first_event_leaves_a_spool_that_the_next_recording_replaces() {
    let stage = Stage::new();
    let (path, before) = existing(&stage, "trace.spool");
    for (scene, is_replaced) in [("start-then-wait", false), ("record-then-wait", true)] {
        let mut scene = process::Running::start(stage.scene(scene).env("FERRUM_TRACE_OUT", &path));
        scene.wait_for_line("ready");
        scene.kill();
        assert_eq!(std::fs::read(&path).unwrap() != before, is_replaced);
    }
    let work = recover(&path).0.numbers("work", "n");
    assert_eq!(work, (1..=10).collect::<Vec<_>>());
    // The next process keeps the killed one's recording, as usual.
    run_scene(&stage, &path, &["return"]).expect_success();
    assert_eq!(stage.files().len(), 2, "{:?}", stage.files());
}

#[test]
fn an_existing_spool_with_the_same_name_is_kept_under_another() {
    let stage = Stage::new();
    let (_, before) = existing(&stage, "trace.json.spool");
    let finished = run_scene(&stage, &stage.trace(), &["record-nothing", "is_on", "return"]).expect_success();
    assert!(finished.stderr.contains("kept as"), "{finished:?}");
    let kept = stage.files().into_iter().find(|name| name.ends_with(".spool")).unwrap();
    assert!(std::fs::read(stage.path(&kept)).unwrap() == before);
}
