//! Environment variables that enable a writer.

mod again;
mod scratch;

use ferrum_bench_core::trace::{TraceEvent, TraceWriter};
use std::collections::HashMap;
use std::fs;
use std::path::Path;

fn n_events(path: &Path) -> usize {
    let events: Vec<TraceEvent> = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    events.iter().filter(|event| event.ph == 'X').count()
}

#[test]
fn without_a_path_the_writer_is_off() {
    assert!(!TraceWriter::from_env_vars(Vec::<(String, String)>::new()).is_enabled());
    assert!(!TraceWriter::from_env_vars([("FERRUM_TRACE_OUT", "")]).is_enabled());
    assert!(
        !TraceWriter::from_env_vars([("FERRUM_TRACE_OUT_OTHER", "x.json"), ("ferrum_trace_out", "x.json")])
            .is_enabled()
    );
}

#[test]
fn with_a_path_the_writer_is_on_and_writes_there() {
    let path = scratch::folder("with_a_path_the_writer_is_on").join("trace.json");
    let out = path.to_str().unwrap().to_owned();
    let vars = HashMap::from([("PATH".to_owned(), "elsewhere".to_owned()), ("FERRUM_TRACE_OUT".to_owned(), out)]);
    let writer = TraceWriter::from_env_vars(vars);
    assert!(writer.is_enabled());
    writer.push("event", "test", 0.0, 1);
    drop(writer);
    assert_eq!(n_events(&path), 1);
}

#[test]
fn names_and_values_may_be_of_different_types() {
    let path = scratch::folder("names_and_values_may_be_of_different_types").join("trace.json");
    let writer = TraceWriter::from_env_vars(vec![("FERRUM_TRACE_OUT", path.to_str().unwrap().to_owned())]);
    assert!(writer.is_enabled());
}

#[test]
fn an_empty_path_is_skipped() {
    let path = scratch::folder("a_path_after_an_empty_one").join("trace.json");
    let vars = [("FERRUM_TRACE_OUT", ""), ("FERRUM_TRACE_OUT", path.to_str().unwrap())];
    assert!(TraceWriter::from_env_vars(vars).is_enabled());
}

#[test]
fn a_limit_in_the_variables_applies_to_the_writer() {
    let test = "a_limit_in_the_variables_applies_to_the_writer";
    if again::is_child() {
        let vars = [("FERRUM_TRACE_OUT", "trace.json"), ("FERRUM_TRACE_LIMIT", "1MiB")];
        let writer = TraceWriter::from_env_vars(vars);
        for _ in 0..100_000 {
            writer.push("event", "test", 0.0, 1);
        }
        return;
    }
    let folder = scratch::folder(test);
    let output = again::run(test, |child| {
        child.current_dir(&folder);
    });
    assert!(output.status.success());
    assert!(n_events(&folder.join("trace.json")) < 100_000, "1 MiB holds fewer events");
    let lines = again::lines(&output);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("events lost (the limit was reached)"), "{lines:?}");
}

#[test]
fn from_env_reads_the_environment_of_the_process() {
    let test = "from_env_reads_the_environment_of_the_process";
    if again::is_child() {
        let writer = TraceWriter::from_env();
        assert!(writer.is_enabled());
        writer.push("event", "test", 0.0, 1);
        return;
    }
    let path = scratch::folder(test).join("trace.json");
    let output = again::run(test, |child| {
        child.env("FERRUM_TRACE_OUT", &path);
    });
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    assert_eq!(n_events(&path), 1);
}

#[cfg(unix)]
#[test]
fn variables_that_are_not_utf8_are_ignored() {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    let test = "variables_that_are_not_utf8_are_ignored";
    if again::is_child() {
        assert!(!TraceWriter::from_env().is_enabled());
        return;
    }
    let odd = OsString::from_vec(vec![b'o', 0xff, b'd']);
    let output = again::run(test, |child| {
        child.env(&odd, &odd);
    });
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}
