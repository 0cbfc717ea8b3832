//! The writer of the process: its file is complete however the process ends, without a guard or a call at the end.

mod again;
mod scratch;

use ferrum_bench_core::trace::{TraceEvent, flush_global_trace, global_trace};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

const EVENTS: u32 = 100;

fn push(events: std::ops::Range<u32>) {
    for n in events {
        global_trace().push(format!("event {n}"), "test", 0.0, 1);
    }
}

/// Runs the test again as a child that records.
fn recorded(test: &str) -> (Output, PathBuf) {
    let path = scratch::folder(test).join("trace.json");
    let output = again::run(test, |child| {
        child.env("FERRUM_TRACE_OUT", &path);
    });
    (output, path)
}

/// Checks that all pushed events are in the file, once and in order, and that there is no other file.
#[track_caller]
fn assert_complete(path: &Path) {
    let events: Vec<TraceEvent> = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let names: Vec<&str> = events.iter().map(|event| event.name.as_str()).collect();
    let expected: Vec<String> = (0..EVENTS).map(|n| format!("event {n}")).collect();
    assert_eq!(names, expected);
    let left: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["trace.json"]);
}

#[test]
fn the_file_is_complete_after_a_normal_return() {
    if again::is_child() {
        return push(0..EVENTS);
    }
    let (output, path) = recorded("the_file_is_complete_after_a_normal_return");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    assert_complete(&path);
}

#[test]
fn the_file_is_complete_after_exit() {
    if again::is_child() {
        push(0..EVENTS);
        std::process::exit(7);
    }
    let (output, path) = recorded("the_file_is_complete_after_exit");
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    assert_complete(&path);
}

#[test]
fn the_file_is_complete_after_a_panic() {
    if again::is_child() {
        push(0..EVENTS);
        panic!("a planned panic");
    }
    let (output, path) = recorded("the_file_is_complete_after_a_panic");
    assert!(!output.status.success(), "{output:?}");
    assert_complete(&path);
}

#[test]
fn the_file_is_complete_after_flushes_in_between() {
    if again::is_child() {
        for start in (0..EVENTS).step_by(10) {
            push(start..start + 10);
            flush_global_trace();
            global_trace().flush().unwrap();
        }
        return;
    }
    let (output, path) = recorded("the_file_is_complete_after_flushes_in_between");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    assert_complete(&path);
}

#[test]
fn all_threads_share_the_writer() {
    if again::is_child() {
        push(0..EVENTS / 2);
        std::thread::spawn(|| push(EVENTS / 2..EVENTS)).join().unwrap();
        return;
    }
    let (output, path) = recorded("all_threads_share_the_writer");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    assert_complete(&path);
}

#[test]
fn the_writer_is_off_without_the_variable() {
    let test = "the_writer_is_off_without_the_variable";
    if again::is_child() {
        push(0..EVENTS);
        assert!(!global_trace().is_enabled());
        flush_global_trace();
        global_trace().flush().unwrap();
        return;
    }
    let output = again::run(test, |_| {});
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn the_writer_is_on_with_the_variable() {
    if again::is_child() {
        assert!(global_trace().is_enabled());
        return push(0..EVENTS);
    }
    let (output, path) = recorded("the_writer_is_on_with_the_variable");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    assert_complete(&path);
}

#[test]
fn a_path_that_cannot_be_written_is_reported_in_one_line_and_does_no_harm() {
    let test = "a_path_that_cannot_be_written_is_reported_in_one_line_and_does_no_harm";
    if again::is_child() {
        push(0..EVENTS);
        assert!(!global_trace().is_enabled());
        return flush_global_trace();
    }
    let path = scratch::folder(test).join("missing/trace.json");
    let output = again::run(test, |child| {
        child.env("FERRUM_TRACE_OUT", &path);
    });
    assert!(output.status.success(), "{output:?}");
    let lines = again::lines(&output);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("missing/trace.json") && lines[0].ends_with("nothing is recorded"), "{lines:?}");
}
