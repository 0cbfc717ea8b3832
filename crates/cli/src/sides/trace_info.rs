//! Facts about a loaded trace that a comparison needs.

use ferrum_trace_analyze::runs::{LossCounts, TraceInfo};
use ferrum_trace_analyze::{DEVICE_PROPERTIES, DISTRIBUTED_INFO, rank_in};
use ferrum_trace_format::chrome::read::Loaded;
use ferrum_trace_model::Recording;
use serde_json::Value;
use std::path::Path;

/// Field with the start of a file of torch.profiler, in nanoseconds since 1970.
const BASE_TIME: &str = "baseTimeNanoseconds";

/// Returns the facts about a trace.
pub(super) fn trace_info(loaded: &Loaded, name: &str, path: Option<&Path>) -> TraceInfo {
    TraceInfo {
        name: name.to_owned(),
        ranks: ranks(loaded, path),
        start_unix_ns: start(loaded),
        devices: devices(loaded),
        losses: losses(loaded),
    }
}

/// Returns the identity of the recording, if the trace is one of several files of a rotating recording.
pub(super) fn rotating_recording(loaded: &Loaded) -> Option<String> {
    let [only] = &loaded.recordings.first[..] else { return None };
    only.part?;
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    Some(format!("{}/{}/{}", text(&only.host), text(&only.boot_id), text(&only.pid)))
}

/// Returns the ranks that the recorder or torch.profiler states, or the name of the file.
fn ranks(loaded: &Loaded, path: Option<&Path>) -> Vec<u32> {
    let mut ranks: Vec<u32> = loaded.recordings.first.iter().filter_map(|recording| recording.rank).collect();
    if ranks.is_empty() {
        let stated = field(loaded, DISTRIBUTED_INFO).and_then(|info| u32::try_from(info.get("rank")?.as_u64()?).ok());
        let named = || rank_in(&path?.file_name()?.to_string_lossy());
        ranks.extend(stated.or_else(named));
    }
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

fn start(loaded: &Loaded) -> Option<i64> {
    let recorded = loaded.recordings.first.iter().filter_map(|recording| recording.start_unix_ns).min();
    recorded.or_else(|| field(loaded, BASE_TIME)?.as_i64()?.checked_add(loaded.trace.census.first?))
}

/// Returns the names of the devices that torch.profiler lists, each once.
fn devices(loaded: &Loaded) -> Vec<String> {
    let Some(Value::Array(devices)) = field(loaded, DEVICE_PROPERTIES) else { return Vec::new() };
    let name = |device: &Value| device.get("name").and_then(Value::as_str).map(str::to_owned);
    let mut names: Vec<String> = devices.iter().filter_map(name).collect();
    names.sort();
    names.dedup();
    names
}

fn field(loaded: &Loaded, name: &str) -> Option<Value> {
    let (_, value) = loaded.fields.iter().find(|(key, _)| key == name)?;
    serde_json::from_slice(value).ok()
}

fn losses(loaded: &Loaded) -> LossCounts {
    let recordings = &loaded.recordings;
    let stopped = |recording: &&Recording| recording.stop_reason.is_some();
    LossCounts {
        places: loaded.losses.n,
        dropped: recordings.dropped,
        overwritten_chunks: recordings.overwritten_chunks,
        stopped: recordings.first.iter().filter(stopped).count() as u64,
    }
}
