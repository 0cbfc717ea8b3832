//! The calls and types that the original engine uses compile and work with the one line of `src/trace.rs`.

use replacement::trace::{TraceEvent, TraceWriter, flush_global_trace, global_trace};
use std::path::PathBuf;

#[test]
fn an_event_is_created_serialized_and_parsed() {
    let event = TraceEvent::complete("rms_norm", "norm", 1_000_000, 0.123, 1);
    assert_eq!((event.ph, event.dur, event.pid), ('X', 123, 0));
    let back: TraceEvent = serde_json::from_str(&serde_json::to_string(&event).unwrap()).unwrap();
    assert_eq!((back.name.as_str(), back.cat.as_str(), back.dur), ("rms_norm", "norm", 123));
}

#[test]
fn a_disabled_writer_accepts_every_call() {
    let writer = TraceWriter::disabled();
    writer.push("rms_norm", "norm", 1.0, 0);
    assert!(!writer.is_enabled());
    writer.flush().unwrap();
}

#[test]
fn environment_variables_enable_a_writer() {
    assert!(!TraceWriter::from_env_vars([("FERRUM_TRACE_OUT", ""), ("OTHER", "1")]).is_enabled());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    assert!(TraceWriter::from_env_vars([("FERRUM_TRACE_OUT", path.to_str().unwrap())]).is_enabled());
}

#[test]
fn a_writer_flushes_to_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("trace.json");
    let writer = TraceWriter::enabled(path.clone());
    writer.push("rms_norm", "norm", 1.0, 1);
    writer.push_with_args("rope", String::from("attn"), 0.5, 2, serde_json::Map::new());
    writer.flush().unwrap();
    let events: Vec<TraceEvent> = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(events.len(), 2);
    assert_eq!((events[0].name.as_str(), events[1].cat.as_str()), ("rms_norm", "attn"));
}

#[test]
fn the_writer_of_the_process_accepts_every_call() {
    let writer: &'static TraceWriter = global_trace();
    writer.push("step", "engine", 1.0, 0);
    flush_global_trace();
}
