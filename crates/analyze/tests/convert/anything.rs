//! Tests that the output for arbitrary traces can be read.

use crate::with_text;
use ferrum_trace_analyze::convert::{Error, LayerwiseOptions, TorchOptions, layerwise, torch};
use ferrum_trace_analyze::devices;
use ferrum_trace_format::chrome::read::{LoadOptions, load};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Events of every kind on two threads and two streams.
fn event() -> impl Strategy<Value = Value> {
    let phase = prop::sample::select(vec!["X", "X", "X", "X", "B", "E", "s", "t", "f", "i", "C", "b", "e", "M", "?"]);
    let category = prop::sample::select(vec!["step", "layer", "gemm", "comm", "memory", "kernel", "cuda_runtime", ""]);
    let name =
        prop::sample::select(vec!["decode", "prefill", "layer", "nn.Module: A_1", "ProfilerStep#3", "k\u{1}\"", ""]);
    (phase, category, name, 1..5_u32, 0..60_i64, 0..20_i64, 0..3_u32, any::<bool>()).prop_map(
        |(phase, category, name, tid, time, duration, id, binds)| {
            let mut event = json!({
                "ph": phase, "name": name, "cat": category, "pid": 1, "tid": tid, "ts": time - 5, "id": id,
                "args": {"layer": id, "correlation": id, "phase": name, "bytes": duration},
            });
            if phase == "X" {
                event["dur"] = json!(duration as f64 / 4.0);
            }
            if binds {
                event["bp"] = json!("e");
            }
            event
        },
    )
}

fn trace(events: &[Value]) -> String {
    let name =
        |tid: u32, name: &str| json!({"ph": "M", "name": "thread_name", "pid": 1, "tid": tid, "args": {"name": name}});
    let names = [name(3, "GPU 0 / stream 7"), name(4, "GPU 1")];
    json!(names.iter().chain(events).collect::<Vec<_>>()).to_string()
}

proptest! {
    #[test]
    fn the_torch_format_is_json_and_has_every_slice_once(events in prop::collection::vec(event(), 0..40)) {
        let json = trace(&events);
        let before = load(json.as_bytes(), &LoadOptions::default()).unwrap().trace;
        let mut out = Vec::new();
        let summary = with_text(&json, |open| torch(open, &mut out, &TorchOptions::default())).unwrap();
        let document: Value = serde_json::from_slice(&out).unwrap();
        let after = load(&out[..], &LoadOptions::default()).unwrap().trace;
        let written = document["traceEvents"].as_array().unwrap().iter();
        let made = written.filter(|event| event["cat"] == "cuda_runtime" && event["dur"] == 0 && event["args"]["layer"].is_null());
        let written = document["traceEvents"].as_array().unwrap().iter();
        let marks = written.filter(|event| event["name"].as_str().is_some_and(|name| name.starts_with("execute_context_")));
        let n_ends = usize::from(document.to_string().contains("\"end\":true"));
        prop_assert_eq!(after.slices.len(), before.slices.len() + made.count() + marks.count() + n_ends);
        let n_devices: usize = devices(&after).iter().map(|device| device.n_slices).sum();
        prop_assert!(n_devices as u64 >= summary.left.unlaunched);
    }

    #[test]
    fn profiles_are_json_or_the_trace_is_empty(events in prop::collection::vec(event(), 0..40)) {
        let mut out = Vec::new();
        match with_text(&trace(&events), |open| layerwise(open, &mut out, &LayerwiseOptions::default())) {
            Ok(_) => crate::layerwise::assert_strict(&out),
            Err(error) => prop_assert!(matches!(error, Error::Nothing(_)), "{}", error),
        }
    }
}
