//! Which slices are steps.

use super::mark::{Mark, StepSource, phase_at_start};
use crate::kineto::{ANNOTATION, GPU_ANNOTATION};
use ferrum_trace_model::vocab::{Phase, step};
use ferrum_trace_model::{ArgColumn, StringId, Trace};
use hashbrown::HashMap;

/// A slice that marks a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkedSlice {
    /// Its number.
    pub slice: u32,
    /// What it says.
    pub mark: Mark,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// The steps, by their start.
    pub steps: Vec<MarkedSlice>,
    /// What a device shows for marks of the host, by start.
    pub on_device: Vec<MarkedSlice>,
    /// Marks that lie in another step, and are part of it.
    pub n_nested: usize,
}

/// Finds the steps of a trace. Of marks that lie in each other the outermost is the step; marks that say nothing of phases
/// count only if there are no others, and those of a device only if the host has none.
pub fn find(trace: &Trace) -> Found {
    let (mut on_host, mut on_device) = collect(trace);
    if on_host.is_empty() {
        (on_host, on_device) = (on_device, Vec::new());
    }
    if on_host.iter().any(|found| found.mark.source != StepSource::Profiler) {
        on_host.retain(|found| found.mark.source != StepSource::Profiler);
        on_device.retain(|found| found.mark.source != StepSource::Profiler);
    }
    let (mut steps, n_nested) = outermost(trace, on_host);
    steps.sort_by_key(|found| (trace.slices.start[found.slice as usize], found.slice));
    on_device.sort_by_key(|found| (trace.slices.start[found.slice as usize], found.slice));
    Found { steps, on_device, n_nested }
}

/// All marks: those of the host, and those of devices.
fn collect(trace: &Trace) -> (Vec<MarkedSlice>, Vec<MarkedSlice>) {
    let own = OwnSteps::of(trace);
    let [annotation, on_device] = [ANNOTATION, GPU_ANNOTATION].map(|text| trace.strings.find(text));
    let of_names = marks(trace, Mark::of_name);
    let of_annotations = marks(trace, Mark::of_annotation);
    let (mut host, mut device) = (Vec::new(), Vec::new());
    for (slice, (&name, &category)) in trace.slices.name.iter().zip(&trace.slices.category).enumerate() {
        let is_on_device = Some(category) == on_device;
        let mark = if Some(category) == own.category {
            Some(own.mark(trace, slice))
        } else if let Some(&mark) = of_names.get(&name) {
            Some(mark)
        } else if Some(category) == annotation || is_on_device {
            of_annotations.get(&name).copied()
        } else {
            None
        };
        if let Some(mark) = mark {
            let found = MarkedSlice { slice: slice as u32, mark };
            if is_on_device { device.push(found) } else { host.push(found) }
        }
    }
    (host, device)
}

/// Each text is looked at once.
fn marks(trace: &Trace, mark: impl Fn(&str) -> Option<Mark>) -> HashMap<StringId, Mark> {
    trace.strings.iter().filter_map(|(id, text)| Some((id, mark(text)?))).collect()
}

/// Steps in our own words.
struct OwnSteps<'a> {
    category: Option<StringId>,
    phase: Option<&'a ArgColumn>,
    counts: [Option<&'a ArgColumn>; 4],
}

impl<'a> OwnSteps<'a> {
    fn of(trace: &'a Trace) -> Self {
        let column = |key: &str| trace.args.iter().find(|column| column.key == key);
        Self {
            category: trace.strings.find(step::CATEGORY),
            phase: column(step::PHASE),
            counts: [step::BATCH, step::PREFILL_TOKENS, step::DECODE_TOKENS, step::CONTEXT_TOKENS].map(column),
        }
    }

    fn mark(&self, trace: &Trace, slice: usize) -> Mark {
        let order = trace.slices.order[slice];
        let value = |column: Option<&ArgColumn>| Some(trace.strings.get(column?.of(order)?));
        let name = trace.strings.get(trace.slices.name[slice]);
        let phase = value(self.phase).and_then(Phase::from_text).or_else(|| phase_at_start(name));
        let [batch, prefill_tokens, decode_tokens, context_tokens] =
            self.counts.map(|column| value(column)?.parse().ok());
        let source = StepSource::Ferrum;
        Mark { batch, prefill_tokens, decode_tokens, context_tokens, ..Mark::new(source, phase) }
    }
}

/// Drops those that lie in another one of their track, and says how many these were.
fn outermost(trace: &Trace, mut found: Vec<MarkedSlice>) -> (Vec<MarkedSlice>, usize) {
    let n_found = found.len();
    let slices = &trace.slices;
    found.sort_by_key(|found| (slices.track[found.slice as usize], crate::nesting::nesting_key(slices, found.slice)));
    let mut latest: Option<(u32, i64)> = None;
    found.retain(|found| {
        let slice = found.slice as usize;
        let (track, end_min) = (slices.track[slice], crate::nesting::enclosing_end_min(slices, slice));
        let is_inside = latest.is_some_and(|(on, end)| on == track.0 && end >= end_min);
        if !is_inside {
            latest = Some((track.0, slices.end(slice)));
        }
        !is_inside
    });
    let n_nested = n_found - found.len();
    (found, n_nested)
}
