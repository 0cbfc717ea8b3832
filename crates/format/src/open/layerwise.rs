//! vLLM's layerwise profiles: trees of modules with their device times, one tree per phase.
//!
//! A profile has durations but no points in time. In the trace, each phase is a process with one row. The modules of a
//! level follow each other, children are inside their parent, and all are inside a slice for the engine's step; the
//! phases follow each other too. A profile numbers layers only in some of the names. Otherwise, sibling modules of one
//! class whose name ends in `Layer` or `Block` are numbered in order.

use crate::Error;
use crate::chrome::{push_decimal, push_micros, push_text};
use ferrum_trace_model::vocab::{Phase, layer, step};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::io::Read;

/// Maximum size of a profile.
const BYTES_MAX: u64 = 256 << 20;
/// Field with the tree of modules of a phase.
const TREE: &str = "model_stats";

/// Returns true if a file starts like a profile: an object whose first field is `context`, with the content that vLLM
/// writes there.
pub(crate) fn is_layerwise(head: &[u8]) -> bool {
    let rest = head.trim_ascii_start();
    let rest = rest.strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    rest.is_some_and(|rest| {
        rest.starts_with(b"\"context\"") && memchr::memmem::find(head, b"\"engine_args\"").is_some()
    })
}

/// Converts a profile to Chrome trace events.
pub(crate) fn to_chrome(input: impl Read) -> Result<Vec<u8>, Error> {
    let mut text = Vec::new();
    input.take(BYTES_MAX + 1).read_to_end(&mut text).map_err(|cause| Error::io("cannot read", cause))?;
    let wrong = |found: String| Error::malformed(0, "a layerwise profile of vLLM", found);
    if text.len() as u64 > BYTES_MAX {
        return Err(wrong("more than 256 MiB".to_owned()));
    }
    let profile: Value = serde_json::from_slice(&text).map_err(|cause| wrong(format!("invalid JSON: {cause}")))?;
    let mut out = Writer { json: b"{\"traceEvents\":[".to_vec(), is_first: true };
    let mut start = 0_u64;
    for (n, (name, phase)) in phases(&profile).into_iter().enumerate() {
        let pid = n as u64 + 1;
        out.process_name(pid, name);
        let roots = phase.get(TREE).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let nanos = total_nanos(roots);
        out.step(pid, name, phase, start, nanos);
        out.nodes(roots, pid, start);
        start = start.saturating_add(nanos);
    }
    if out.is_first {
        return Err(wrong("a profile without a phase".to_owned()));
    }
    out.json.extend_from_slice(b"]}");
    Ok(out.json)
}

/// Returns the fields with a tree of modules: `prefill`, then `decode_1`, `decode_2` and so on.
fn phases(profile: &Value) -> Vec<(&String, &Map<String, Value>)> {
    let fields = profile.as_object().into_iter().flatten();
    let is_read = |phase: &&Map<String, Value>| phase.contains_key(TREE) && !is_stand_in(phase);
    let with_tree = |(name, phase)| Some((name, Value::as_object(phase).filter(is_read)?));
    let mut phases: Vec<_> = fields.filter_map(with_tree).collect();
    phases.sort_by_key(|(name, _)| match name.split_once('_') {
        Some(("decode", number)) => (1, number.parse::<u64>().unwrap_or(u64::MAX)),
        _ => (0, 0),
    });
    phases
}

/// Returns true if a phase is the empty one that `convert` adds because vLLM's plot needs it.
fn is_stand_in(phase: &Map<String, Value>) -> bool {
    phase.get("metadata").is_some_and(|metadata| metadata["missing"] == true)
}

/// Returns true if an entry is the wrapper that `convert` adds around the leaves of a module.
fn is_wrapper(node: &Value) -> bool {
    let is_named = node["entry"]["name"].as_str().is_some_and(|name| name.ends_with(" (self)"));
    is_named && node["children"].as_array().is_some_and(|children| !children.is_empty())
}

struct Writer {
    json: Vec<u8>,
    is_first: bool,
}

impl Writer {
    fn process_name(&mut self, pid: u64, name: &str) {
        self.begin("M", "process_name", pid);
        self.json.extend_from_slice(b",\"args\":{\"name\":");
        push_text(&mut self.json, name);
        self.json.extend_from_slice(b"}}");
    }

    fn begin(&mut self, phase: &str, name: &str, pid: u64) {
        self.json.extend_from_slice(if self.is_first { b"\n" } else { b",\n" });
        self.is_first = false;
        self.json.extend_from_slice(b"{\"ph\":");
        push_text(&mut self.json, phase);
        self.json.extend_from_slice(b",\"name\":");
        push_text(&mut self.json, name);
        self.json.extend_from_slice(b",\"pid\":");
        push_decimal(&mut self.json, pid);
        self.json.extend_from_slice(b",\"tid\":1");
    }

    /// Writes the step of a phase.
    fn step(&mut self, pid: u64, name: &str, phase: &Map<String, Value>, start: u64, nanos: u64) {
        let word = if name.starts_with(Phase::Decode.as_str()) { Phase::Decode } else { Phase::Prefill };
        self.begin("X", name, pid);
        self.json.extend_from_slice(b",\"cat\":");
        push_text(&mut self.json, step::CATEGORY);
        self.times(start, nanos);
        let mut args = serde_json::json!({ step::PHASE: word.as_str() });
        if let Some(batch) = phase.get("metadata").and_then(|metadata| metadata["num_running_seqs"].as_u64()) {
            args[step::BATCH] = batch.into();
        }
        self.json.extend_from_slice(format!(",\"args\":{args}}}").as_bytes());
    }

    /// Writes modules one after another.
    fn nodes(&mut self, nodes: &[Value], pid: u64, mut start: u64) {
        let layers = layers_among(nodes);
        for (node, layer) in nodes.iter().zip(layers) {
            if let (true, Some(leaves)) = (is_wrapper(node), node["children"].as_array()) {
                self.nodes(leaves, pid, start);
                start = start.saturating_add(total_nanos(leaves));
                continue;
            }
            start = start.saturating_add(self.node(node, layer, pid, start));
        }
    }

    /// Writes a module and its children; returns its duration in nanoseconds.
    fn node(&mut self, node: &Value, layer: Option<u64>, pid: u64, start: u64) -> u64 {
        let entry = &node["entry"];
        let own = entry["cuda_time_us"].as_f64().map_or(0, |micros| (micros * 1000.0).round() as u64);
        let children = node["children"].as_array();
        let inside = total_nanos(children.map_or(&[], Vec::as_slice));
        // Rounding may make the sum of the children longer than the parent.
        let duration = own.max(inside);
        let is_kernel = children.is_none_or(Vec::is_empty);
        self.begin("X", entry["name"].as_str().unwrap_or_default(), pid);
        self.json.extend_from_slice(if is_kernel { b",\"cat\":\"kernel\"" } else { b",\"cat\":\"module\"" });
        self.times(start, duration);
        let mut args = entry.clone();
        if let (Some(layer), Some(args)) = (layer, args.as_object_mut()) {
            args.insert(layer::LAYER.to_owned(), layer.into());
        }
        self.json.extend_from_slice(format!(",\"args\":{args}}}").as_bytes());
        self.nodes(children.map_or(&[], Vec::as_slice), pid, start);
        duration
    }

    fn times(&mut self, start: u64, duration: u64) {
        self.json.extend_from_slice(b",\"ts\":");
        push_micros(&mut self.json, start);
        self.json.extend_from_slice(b",\"dur\":");
        push_micros(&mut self.json, duration);
    }
}

/// Finds the modules that are layers and returns their numbers: modules of a class that ends in `Layer` or `Block` and
/// occurs several times. `LlamaDecoderLayer_7` has its number in the name, others are counted.
fn layers_among(nodes: &[Value]) -> Vec<Option<u64>> {
    let classes: Vec<(&str, Option<u64>)> = nodes.iter().map(|node| class_of(&node["entry"])).collect();
    let mut counts: HashMap<&str, u64> = HashMap::new();
    for (class, _) in &classes {
        *counts.entry(class).or_default() += 1;
    }
    let mut n_layers = 0..;
    let mut number = |(class, number): (&str, Option<u64>)| {
        let is_layer = (class.ends_with("Layer") || class.ends_with("Block")) && counts[class] > 1;
        is_layer.then(|| number.or(n_layers.next())).flatten()
    };
    classes.iter().map(|&class| number(class)).collect()
}

/// Returns the class of a module, and the number after it.
fn class_of(entry: &Value) -> (&str, Option<u64>) {
    let name = entry["name"].as_str().unwrap_or_default();
    let class = name.split('(').next().unwrap_or_default();
    match class.rsplit_once('_') {
        Some((class, number)) if number.parse::<u64>().is_ok() => (class, number.parse().ok()),
        _ => (class, None),
    }
}

/// Returns the duration of a module: its own time, or the sum of its children if that is longer.
fn nanos_of(node: &Value) -> u64 {
    let own = node["entry"]["cuda_time_us"].as_f64().map_or(0, |micros| (micros * 1000.0).round() as u64);
    own.max(total_nanos(node["children"].as_array().map_or(&[], Vec::as_slice)))
}

fn total_nanos(nodes: &[Value]) -> u64 {
    nodes.iter().map(nanos_of).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILE: &str = r#"{"context": {"engine_args": {"model": "m"}, "batch_size": 1},
        "prefill": {"metadata": {"num_running_seqs": 1}, "summary_stats": [], "model_stats": [
            {"entry": {"name": "Model", "cpu_time_us": 9.0, "cuda_time_us": 3.5, "pct_cuda_time": 100.0, "trace": ""},
             "children": [
                {"entry": {"name": "Attn", "cuda_time_us": 1.25}, "children": []},
                {"entry": {"name": "Mlp", "cuda_time_us": 2.0}, "children": []}]}]},
        "decode_1": {"model_stats": [{"entry": {"name": "Model", "cuda_time_us": 1.0}, "children": []}]}}"#;

    #[test]
    fn modules_follow_each_other_inside_their_parents() {
        assert!(is_layerwise(PROFILE.as_bytes()));
        let json: Value = serde_json::from_slice(&to_chrome(PROFILE.as_bytes()).unwrap()).unwrap();
        let slice =
            |event: &Value| (event["name"].as_str().map(str::to_owned), event["ts"].as_f64(), event["dur"].as_f64());
        let events = json["traceEvents"].as_array().unwrap();
        let slices: Vec<_> = events.iter().filter(|event| event["ph"] == "X").map(slice).collect();
        let expected = [
            ("prefill", 0.0, 3.5),
            ("Model", 0.0, 3.5),
            ("Attn", 0.0, 1.25),
            ("Mlp", 1.25, 2.0),
            ("decode_1", 3.5, 1.0),
            ("Model", 3.5, 1.0),
        ];
        let expected: Vec<_> = expected.map(|(name, ts, dur)| (Some(name.to_owned()), Some(ts), Some(dur))).into();
        assert_eq!(slices, expected);
        assert_eq!(events.last().unwrap()["pid"], 2);
        assert_eq!(events[1]["args"], serde_json::json!({"phase": "prefill", "batch": 1}));
        assert_eq!((&events[1]["cat"], &events[6]["args"]), (&"step".into(), &serde_json::json!({"phase": "decode"})));
    }

    #[test]
    fn layers_are_numbered_by_name_or_by_count() {
        let layers = |names: &[&str]| {
            let nodes: Vec<Value> = names.iter().map(|name| serde_json::json!({"entry": {"name": name}})).collect();
            layers_among(&nodes)
        };
        assert_eq!(
            layers(&["Embedding", "LlamaDecoderLayer", "LlamaDecoderLayer", "RMSNorm(weight=b[1])"]),
            [None, Some(0), Some(1), None]
        );
        assert_eq!(layers(&["T5Block_7", "T5Block_9", "LayerNorm_0", "LayerNorm_1"]), [Some(7), Some(9), None, None]);
        assert_eq!(layers(&["EncoderLayer", "layer 3"]), [None, None]);
    }

    #[test]
    fn other_objects_are_not_mistaken_for_profiles() {
        assert!(!is_layerwise(br#"{"context": 1, "traceEvents": []}"#));
        assert!(!is_layerwise(b"[]"));
    }
}
