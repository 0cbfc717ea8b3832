//! A machine whose processors are all busy: files are written nevertheless, and nothing is lost.
//!
//! The scenes run as a user without privileges, who cannot raise the priority of a thread. They never end if a file is
//! not written, so that the time limit of scenes fails the test.

mod common;

use common::{Finished, Stage, TraceFile};
use ferrum_trace_testkit::process::run;
use std::os::unix::fs::PermissionsExt;

/// Runs a scene in a folder that the user of the scene may write to.
#[track_caller]
fn run_scene(stage: &Stage, name: &str) -> Finished {
    std::fs::set_permissions(stage.path(""), std::fs::Permissions::from_mode(0o777)).unwrap();
    run(&mut stage.scene_without_env(name)).expect_success()
}

#[test]
fn a_rotating_recording_loses_nothing_and_writes_its_files() {
    let stage = Stage::new();
    let finished = run_scene(&stage, "rotate-on-busy-processors");
    let files: Vec<String> = stage.files().into_iter().collect();
    let expected: Vec<String> = (1..=files.len()).map(|n| format!("trace.{n:03}.json")).collect();
    assert_eq!(files, expected);
    let parts: Vec<TraceFile> = files.iter().map(|name| TraceFile::read(&stage.path(name))).collect();
    assert_eq!(parts.iter().map(|part| part.count("work")).sum::<usize>() as u64, finished.number("recorded"));
    assert!(parts.iter().all(|part| part.about("dropped") == 0));
}

#[test]
fn a_flush_completes() {
    let stage = Stage::new();
    let finished = run_scene(&stage, "flush-on-busy-processors");
    assert_eq!(finished.answer("written"), "true");
    assert_eq!(stage.finished_trace().count("work"), 300_000);
}

#[test]
fn a_recording_that_is_stopped_is_completed() {
    let stage = Stage::new();
    let finished = run_scene(&stage, "stop-on-busy-processors");
    assert_eq!(finished.number("recorded"), 300_000);
    assert_eq!(stage.finished_trace().count("work"), 300_000);
}

#[test]
fn a_dump_completes() {
    let stage = Stage::new();
    run_scene(&stage, "dump-on-busy-processors");
    assert!(TraceFile::read(&stage.path("trace.dump-001.json")).count("work") > 50_000);
}
