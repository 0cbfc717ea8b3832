//! Finds the slices that are steps.

use super::mark::{Mark, StepSource, phase_at_start};
use crate::kineto::{ANNOTATION, GPU_ANNOTATION, ORIGINAL_CATEGORY};
use ferrum_trace_model::vocab::{Phase, UNCLOSED, step};
use ferrum_trace_model::{ArgColumn, StringId, Trace};
use hashbrown::HashMap;

/// A slice that marks a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MarkedSlice {
    /// Index of the slice.
    pub slice: u32,
    /// Its mark.
    pub mark: Mark,
    /// Slice of the next step of its track, if that begins before this one ends. Slices that begin after it belong to
    /// the next step.
    pub next: Option<u32>,
}

/// Steps that were found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The steps, by start.
    pub steps: Vec<MarkedSlice>,
    /// Device marks that correspond to marks of the host, by start.
    pub on_device: Vec<MarkedSlice>,
    /// Number of marks inside another step, which are part of it.
    pub n_nested: usize,
    /// Number of marks of steps that had not ended when the trace was written. They do not count as steps, because
    /// their duration is unknown.
    pub n_unfinished: usize,
    /// True if a device marks the steps, since the host has no marks.
    pub is_on_device: bool,
}

/// Finds the steps of a trace. Of nested marks the outermost is the step. Marks without a phase count only if there are
/// no others, and marks of a device only if the host has none.
pub(crate) fn find(trace: &Trace) -> Found {
    let (mut on_host, mut on_device) = collect(trace);
    let n_unfinished = leave_unfinished_out(trace, &mut on_host);
    let is_on_device = on_host.is_empty();
    if is_on_device {
        (on_host, on_device) = (on_device, Vec::new());
    }
    if on_host.iter().any(|found| found.mark.source != StepSource::Profiler) {
        on_host.retain(|found| found.mark.source != StepSource::Profiler);
        on_device.retain(|found| found.mark.source != StepSource::Profiler);
    }
    let (mut steps, n_nested) = outermost(trace, on_host);
    link_overlapping(trace, &mut steps);
    steps.sort_by_key(|found| (trace.slices.start[found.slice as usize], found.slice));
    on_device.sort_by_key(|found| (trace.slices.start[found.slice as usize], found.slice));
    Found { steps, on_device, n_nested, n_unfinished, is_on_device }
}

/// Returns all marks of the host, and all marks of devices.
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
            let is_own = mark.source == StepSource::Vllm && own.is_converted(trace, slice);
            Some(if is_own { own.mark(trace, slice) } else { mark })
        } else if Some(category) == annotation || is_on_device {
            of_annotations.get(&name).copied()
        } else {
            None
        };
        if let Some(mark) = mark {
            let found = MarkedSlice { slice: slice as u32, mark, next: None };
            if is_on_device { device.push(found) } else { host.push(found) }
        }
    }
    (host, device)
}

/// Removes the steps that had not ended, and returns their number.
fn leave_unfinished_out(trace: &Trace, steps: &mut Vec<MarkedSlice>) -> usize {
    let Some(unclosed) = trace.args.iter().find(|column| column.key == UNCLOSED) else {
        return 0;
    };
    let n_all = steps.len();
    steps.retain(|found| unclosed.of(trace.slices.order[found.slice as usize]).is_none());
    n_all - steps.len()
}

/// Parses each text once.
fn marks(trace: &Trace, mark: impl Fn(&str) -> Option<Mark>) -> HashMap<StringId, Mark> {
    trace.strings.iter().filter_map(|(id, text)| Some((id, mark(text)?))).collect()
}

/// Steps with the category `step` of this recorder.
struct OwnSteps<'a> {
    category: Option<StringId>,
    phase: Option<&'a ArgColumn>,
    original_category: Option<&'a ArgColumn>,
    counts: [Option<&'a ArgColumn>; 4],
}

impl<'a> OwnSteps<'a> {
    fn of(trace: &'a Trace) -> Self {
        let column = |key: &str| trace.args.iter().find(|column| column.key == key);
        Self {
            category: trace.strings.find(step::CATEGORY),
            phase: column(step::PHASE),
            original_category: column(ORIGINAL_CATEGORY),
            counts: [step::BATCH, step::PREFILL_TOKENS, step::DECODE_TOKENS, step::CONTEXT_TOKENS].map(column),
        }
    }

    /// Returns true if a slice was one of our steps before a conversion to torch's format.
    fn is_converted(&self, trace: &Trace, slice: usize) -> bool {
        let category = self.original_category.and_then(|column| column.of(trace.slices.order[slice]));
        category.is_some_and(|category| category.content(&trace.strings) == step::CATEGORY)
    }

    fn mark(&self, trace: &Trace, slice: usize) -> Mark {
        let order = trace.slices.order[slice];
        let value = |column: Option<&ArgColumn>| column?.of(order);
        let name = trace.strings.get(trace.slices.name[slice]);
        let phase = value(self.phase)
            .and_then(|phase| Phase::from_text(&phase.content(&trace.strings)))
            .or_else(|| phase_at_start(name));
        let [batch, prefill_tokens, decode_tokens, context_tokens] =
            self.counts.map(|column| value(column)?.number(&trace.strings));
        let source = StepSource::Ferrum;
        Mark { batch, prefill_tokens, decode_tokens, context_tokens, ..Mark::new(source, phase) }
    }
}

/// Links each step to the next one of its track if that partly overlaps it. Steps must be sorted by track and start.
fn link_overlapping(trace: &Trace, steps: &mut [MarkedSlice]) {
    let slices = &trace.slices;
    for n in 1..steps.len() {
        let [slice, next] = [n - 1, n].map(|n| steps[n].slice as usize);
        if slices.track[slice] == slices.track[next] && slices.start[next] < slices.end(slice) {
            steps[n - 1].next = Some(next as u32);
        }
    }
}

/// Removes steps that lie in another one of their track, and returns their number.
fn outermost(trace: &Trace, mut found: Vec<MarkedSlice>) -> (Vec<MarkedSlice>, usize) {
    let n_found = found.len();
    let slices = &trace.slices;
    found.sort_by_key(|found| {
        (slices.track[found.slice as usize], crate::structure::nesting::nesting_key(slices, found.slice))
    });
    let mut latest: Option<(u32, i64)> = None;
    found.retain(|found| {
        let slice = found.slice as usize;
        let (track, end_min) = (slices.track[slice], crate::structure::nesting::enclosing_end_min(slices, slice));
        let is_inside = latest.is_some_and(|(on, end)| on == track.0 && end >= end_min);
        if !is_inside {
            latest = Some((track.0, slices.end(slice)));
        }
        !is_inside
    });
    let n_nested = n_found - found.len();
    (found, n_nested)
}
