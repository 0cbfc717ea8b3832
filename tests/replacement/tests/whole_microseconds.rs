//! With `FERRUM_TRACE_TIME=us`, a reader that supports only whole microseconds reads every event of a file.

use ferrum_trace::{Flow, Recorder, Span, Track, async_span, counter, instant, laps, span};
use replacement::trace::TraceWriter;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// An event as the original engine declares it.
#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "the test only parses it")]
struct Original {
    name: String,
    cat: String,
    ph: char,
    ts: u64,
    dur: u64,
    pid: u32,
    tid: u32,
    #[serde(default)]
    args: Map<String, Value>,
}

fn read(path: &Path) -> Vec<Original> {
    let text = std::fs::read_to_string(path).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Panics unless slices of one track nest, touch or are disjoint.
fn assert_nested(events: &[Original]) {
    let mut rows: BTreeMap<(u32, u32), Vec<(u64, u64)>> = BTreeMap::new();
    for event in events.iter().filter(|event| event.ph == 'X') {
        rows.entry((event.pid, event.tid)).or_default().push((event.ts, event.ts + event.dur));
    }
    for (row, mut slices) in rows {
        slices.sort_by_key(|&(start, end)| (start, std::cmp::Reverse(end)));
        let mut open: Vec<u64> = Vec::new();
        for (start, end) in slices {
            open.retain(|&outer| outer > start);
            assert!(open.last().is_none_or(|&outer| end <= outer), "{row:?}: {start} to {end} in {open:?}");
            open.push(end);
        }
    }
}

fn record_everything() {
    let track = Track::new("stream 7");
    let flow = Flow::new();
    let now = ferrum_trace::Timestamp::now();
    for layer in 0..200_u32 {
        let outer = span!("layer", "layer", layer);
        outer.flow_out(flow);
        {
            let _inner = span!("first thing inside", "op");
        }
        let mut laps = laps!("stretches", "op");
        laps.mark("one");
        laps.mark("two");
        drop(laps);
        let _dynamic = Span::dynamic(&format!("layer {layer}"), "op");
        instant!("point", "op", layer);
        counter!("tokens", n = layer);
        let _request = async_span!("request", "request", layer);
        track.complete_at("kernel", "kernel", now, ferrum_trace::Timestamp::now());
    }
    span!("receives", "flow").flow_in(flow);
    let _never_ends = std::mem::ManuallyDrop::new(async_span!("open", "request"));
}

#[test]
fn every_kind_of_event_is_read_and_slices_nest() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let recorder = Recorder::builder().path(&path).whole_microseconds().start().unwrap();
    record_everything();
    recorder.flush().unwrap();
    assert_nested(&read(&path));
    drop(span!("later", "op"));
    let stats = recorder.finish().unwrap();
    let events = read(&path);
    assert_nested(&events);
    for phase in ['X', 'i', 'C', 'b', 'e', 's', 'f', 'M'] {
        assert!(events.iter().any(|event| event.ph == phase), "{phase}");
    }
    assert!(events.iter().all(|event| event.ph == 'X' || event.dur == 0));
    let n_recorded = events.iter().filter(|event| event.ph != 'M').count() as u64;
    assert_eq!(n_recorded, stats.recorded + 1, "all events, and the end of an async event without one");
}

#[test]
fn pushed_slices_are_read_also_if_they_overlap() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let vars = [("FERRUM_TRACE_OUT", path.to_str().unwrap()), ("FERRUM_TRACE_TIME", "us")];
    let writer = TraceWriter::from_env_vars(vars);
    for n in 0..500 {
        writer.push("overlaps", "test", 0.0307, n % 4);
    }
    drop(writer);
    let events = read(&path);
    let slices: Vec<_> = events.iter().filter(|event| event.ph == 'X').collect();
    assert_eq!(slices.len(), 500);
    assert!(slices.iter().all(|slice| (30..=31).contains(&slice.dur) && slice.tid < 4));
    assert_nested(&events);
}

#[test]
fn times_have_three_decimals_by_default() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let writer = TraceWriter::enabled(path.clone());
    writer.push("slice", "test", 0.0307, 1);
    drop(writer);
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains("\"dur\":30.700"), "{text}");
}
