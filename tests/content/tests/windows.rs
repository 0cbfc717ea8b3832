//! Windows and categories set by the environment.

use content::child;
use content::child::Outcome;
use ferrum_trace_testkit::strict_trace::Trace;
use std::path::PathBuf;
use tempfile::{TempDir, tempdir};

/// Runs three steps: prefill, mixed, and decode with layers and operations.
fn steps_with(vars: &[(&str, &str)]) -> (TempDir, PathBuf, Outcome) {
    let folder = tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let mut child = child!("steps").out(&path);
    for (name, value) in vars {
        child = child.env(name, value);
    }
    let outcome = child.run();
    (folder, path, outcome)
}

fn names(path: PathBuf) -> Vec<String> {
    Trace::read(path).slices().map(|slice| slice.name.clone()).collect()
}

#[test]
fn the_file_has_exactly_the_steps_of_the_window() {
    for (window, expected) in [("steps=0", "prefill"), ("steps=1..2", "mixed"), ("skip=1,steps=..1", "mixed")] {
        let (_folder, path, outcome) = steps_with(&[("FERRUM_TRACE_WINDOW", window)]);
        outcome.expect_quiet();
        assert_eq!(names(path), [expected], "{window}");
    }
    let (_folder, path, outcome) = steps_with(&[("FERRUM_TRACE_WINDOW", "every=3")]);
    outcome.expect_quiet();
    assert_eq!(names(path).last().map(String::as_str), Some("decode"));
}

#[test]
fn a_rank_that_is_not_selected_writes_no_file() {
    let (folder, _, outcome) = steps_with(&[("FERRUM_TRACE_WINDOW", "ranks=0"), ("RANK", "3")]);
    outcome.expect_quiet();
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    let (_folder, path, _) = steps_with(&[("FERRUM_TRACE_WINDOW", "ranks=0"), ("RANK", "0")]);
    assert!(names(path).len() > 3);
}

#[test]
fn an_invalid_bound_is_reported_in_one_line_and_nothing_is_recorded() {
    for (name, value, expected) in [
        ("FERRUM_TRACE_WINDOW", "steps=ten", "steps=100..120"),
        ("FERRUM_TRACE_RING", "64Mibs", "`64MiB`"),
        ("FERRUM_TRACE_LIMIT", "lots", "`512MiB`"),
        ("FERRUM_TRACE_ROTATE", "daily", "`256MiB`"),
        ("FERRUM_TRACE_DUMPS", "files=few", "`files=10`"),
        ("FERRUM_TRACE_CATEGORIES", "a*b", "`attention,gemm`"),
    ] {
        let (folder, _, outcome) = steps_with(&[(name, value)]);
        let line = outcome.one_line();
        for part in [name, value, expected, "; nothing is recorded"] {
            assert!(line.contains(part), "{line}");
        }
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "{line}");
    }
}

#[test]
fn a_misspelled_category_is_reported_at_the_start_and_an_empty_trace_at_the_end() {
    let (_folder, path, outcome) = steps_with(&[("FERRUM_TRACE_CATEGORIES", "atention")]);
    assert!(names(path).is_empty());
    let lines: Vec<&str> = outcome.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].contains("`atention` is none of the known categories, did you mean `attention`?"), "{lines:?}");
    assert!(lines[0].contains("attention, gemm, moe, norm") && lines[0].contains("step, layer, request"), "{lines:?}");
    assert!(lines[1].contains("nothing was recorded: no event has one of the categories `atention`"), "{lines:?}");
    assert!(lines[1].contains("step") && lines[1].contains("gemm"), "{lines:?}");
}

#[test]
fn a_category_without_events_is_reported_at_the_end() {
    let (_folder, path, outcome) = steps_with(&[("FERRUM_TRACE_CATEGORIES", "my own")]);
    assert!(names(path).is_empty());
    let line = outcome.one_line();
    assert!(line.contains("no event has one of the categories `my own`; the categories of the events are"), "{line}");
}

#[test]
fn categories_are_included_or_excluded() {
    let (_folder, path, outcome) = steps_with(&[("FERRUM_TRACE_CATEGORIES", "step,gemm")]);
    outcome.expect_quiet();
    let mut chosen = names(path);
    chosen.sort();
    assert_eq!(chosen, ["decode", "mixed", "prefill", "qkv_proj", "qkv_proj"]);
    let (_folder, path, _) = steps_with(&[("FERRUM_TRACE_CATEGORIES", "-step,-layer,-a*")]);
    let mut left = names(path);
    left.sort();
    assert_eq!(left, ["qkv_proj", "qkv_proj", "sample"]);
}
