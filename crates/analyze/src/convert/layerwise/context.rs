//! Properties of the run that a profile states.

use super::phases::{Step, Steps};
use crate::kineto::{DISTRIBUTED, WORLD_SIZE};
use crate::rewrite::rank::rank_in;
use ferrum_trace_format::chrome::read::for_each_member;
use ferrum_trace_model::vocab::{Phase, device_track, request};
use ferrum_trace_model::{End, Trace};
use std::collections::BTreeSet;

/// Properties of a run; `None` if the trace does not have them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Context {
    /// The mean length of a prompt, in tokens.
    pub prompt_len: Option<u64>,
    /// Number of devices that take part.
    pub n_devices: Option<u64>,
    /// Number of sequences in the largest step.
    pub batch: Option<u64>,
}

impl Context {
    /// Collects the properties of a trace. `fields` are those around its events.
    pub(super) fn of(trace: &Trace, steps: &Steps, fields: &[(String, Vec<u8>)]) -> Self {
        Self {
            prompt_len: mean(prompts_of_requests(trace)).or_else(|| mean(prompts_of_steps(&steps.list))),
            n_devices: world_size(fields).or_else(|| n_ranks(trace)).or_else(|| n_devices(trace)),
            batch: steps.list.iter().filter_map(|step| step.batch).max(),
        }
    }
}

/// Returns the total of tokens divided by the total of prompts.
fn mean(counts: impl Iterator<Item = (u64, u64)>) -> Option<u64> {
    let (n_tokens, n_prompts) = counts.fold((0_u64, 0_u64), |(tokens, prompts), (more_tokens, more)| {
        (tokens.saturating_add(more_tokens), prompts.saturating_add(more))
    });
    n_tokens.checked_div(n_prompts).filter(|&mean| mean > 0)
}

/// Returns, for each request that states its prompt tokens, these and 1.
fn prompts_of_requests(trace: &Trace) -> impl Iterator<Item = (u64, u64)> + '_ {
    let column = trace.args.iter().find(|column| column.key == request::PROMPT_TOKENS);
    let name = trace.strings.find(request::REQUEST);
    let asyncs = &trace.asyncs;
    (0..asyncs.time.len()).filter_map(move |n| {
        let is_request = Some(asyncs.name[n]) == name && asyncs.end[n] == End::Begin;
        let tokens = column.filter(|_| is_request)?.of(asyncs.order[n])?;
        Some((tokens.number(&trace.strings)?, 1))
    })
}

/// Returns tokens and sequences of each step that computes prompts. Sequences of a mixed step that generate one token
/// each do not count as prompts.
fn prompts_of_steps(steps: &[Step]) -> impl Iterator<Item = (u64, u64)> + '_ {
    steps.iter().filter_map(|step| {
        let n_generating = match step.phase {
            Phase::Prefill => 0,
            Phase::Mixed => step.decode_tokens?,
            Phase::Decode => return None,
        };
        let n_prompts = step.batch?.checked_sub(n_generating).filter(|&n| n > 0)?;
        Some((step.prefill_tokens?, n_prompts))
    })
}

/// Returns the number of ranks that torch's traces state.
fn world_size(fields: &[(String, Vec<u8>)]) -> Option<u64> {
    let (_, info) = fields.iter().find(|(key, _)| key == DISTRIBUTED)?;
    let mut world_size = None;
    for_each_member(info, |key, value| {
        if key.raw == WORLD_SIZE.as_bytes() {
            world_size = value.decode().parse().ok();
        }
    });
    world_size
}

/// Returns the number of ranks in a merged trace. A file of one rank does not have it.
fn n_ranks(trace: &Trace) -> Option<u64> {
    let ranks = ranks(trace);
    (ranks.len() > 1).then_some(ranks.len() as u64)
}

fn ranks(trace: &Trace) -> BTreeSet<u32> {
    let names = trace.tracks.processes().flat_map(|(_, process)| [process.name, process.labels]).flatten();
    names.filter_map(|name| rank_in(trace.strings.get(name))).collect()
}

/// Returns the number of devices that have tracks, unless the trace is of one rank among several.
fn n_devices(trace: &Trace) -> Option<u64> {
    let names = trace.tracks.iter().filter_map(|(_, track)| track.name);
    let parsed = names.filter_map(|name| device_track::parse(trace.strings.get(name)));
    let devices: BTreeSet<u32> = parsed.map(|found| found.device).collect();
    (!devices.is_empty() && ranks(trace).is_empty()).then_some(devices.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::STEP_ARGS;
    use ferrum_trace_format::chrome::read::{LoadOptions, load};

    fn context(json: &str) -> Context {
        let args = STEP_ARGS.into_iter().chain([request::PROMPT_TOKENS]).map(str::to_owned).collect();
        let loaded = load(json.as_bytes(), &LoadOptions { args, ..LoadOptions::default() }).unwrap();
        Context::of(&loaded.trace, &Steps::of(&loaded.trace), &loaded.fields)
    }

    fn step(phase: &str, args: &str) -> String {
        format!(
            r#"{{"ph":"X","cat":"step","name":"{phase}","pid":1,"tid":1,"ts":1,"dur":2,"args":{{"phase":"{phase}",{args}}}}}"#
        )
    }

    #[test]
    fn prompts_are_taken_from_requests_or_else_from_steps() {
        let prefill = step("prefill", r#""batch":2,"prefill_tokens":600"#);
        let mixed = step("mixed", r#""batch":5,"prefill_tokens":64,"decode_tokens":4"#);
        let request =
            r#"{"ph":"b","cat":"request","name":"request","id":1,"pid":1,"tid":1,"ts":0,"args":{"prompt_tokens":777}}"#;
        assert_eq!(context(&format!("[{prefill}]")).prompt_len, Some(300));
        assert_eq!(context(&format!("[{mixed}]")).prompt_len, Some(64));
        assert_eq!(context(&format!("[{prefill},{request}]")).prompt_len, Some(777));
        let unknown = [
            step("decode", r#""batch":2"#),
            step("prefill", r#""batch":2"#),
            step("mixed", r#""batch":2,"prefill_tokens":7"#),
        ];
        for step in unknown {
            assert_eq!(context(&format!("[{step}]")), Context { batch: Some(2), ..Context::default() });
        }
    }

    #[test]
    fn devices_are_counted_by_world_size_ranks_or_tracks() {
        let process = |pid: u32, label: &str| {
            format!(r#"{{"ph":"M","name":"process_labels","pid":{pid},"args":{{"labels":"{label}"}}}}"#)
        };
        let track = |tid: u32, name: &str| {
            format!(r#"{{"ph":"M","name":"thread_name","pid":1,"tid":{tid},"args":{{"name":"{name}"}}}}"#)
        };
        let n_devices = |json: &str| context(json).n_devices;
        assert_eq!(n_devices(r#"{"distributedInfo":{"rank":1,"world_size":8},"traceEvents":[]}"#), Some(8));
        assert_eq!(n_devices(&format!("[{},{}]", process(1, "rank 0"), process(2, "rank 1"))), Some(2));
        let tracks = [track(2, "GPU 0 / stream 7"), track(3, "GPU 0 / copies"), track(4, "GPU 3")].join(",");
        assert_eq!(n_devices(&format!("[{tracks}]")), Some(2));
        assert_eq!(n_devices(&format!("[{tracks},{}]", process(1, "rank 3"))), None);
        assert_eq!(n_devices("[]"), None);
    }
}
