//! Steps of an engine: their durations, the part of the time that slices explain, and the differences of slow steps.
//!
//! The table in `mark.rs` and `docs/steps-and-requests.md` define the slices that count as steps.

mod annotations;
mod device;
mod find;
mod groups;
mod host;
mod keyed_groups;
mod labels;
mod launches;
mod layer_times;
mod lookup;
mod mark;
mod mark_args;
mod measured;
mod missing_device_work;
mod op_times;
mod results;
mod slowest;
mod span;
mod step;
mod tiles;

pub use device::{Attribution, DeviceTime};
pub use groups::{BatchRange, StepGroup};
pub use keyed_groups::{KeyedStepGroup, StepKey, StepKeyValue, group_steps};
pub use labels::{StepLabels, step_labels};
pub use layer_times::LayerTime;
pub use mark::{Mark, StepSource};
pub use mark_args::add_mark_args;
pub use op_times::{NameTime, OpTime, OpTimes};
pub use slowest::{Difference, DifferenceSubject, SlowStep};
pub use span::Split;
pub use step::Step;

use crate::kineto::{CORRELATION, DEVICE_PROPERTIES, EXTERNAL_ID, ORIGINAL_CATEGORY};
use crate::structure::gaps::{GapSum, Gaps};
use crate::structure::nesting::Nesting;
use crate::structure::select::Selected;
pub(crate) use device::{Work, works_of};
use ferrum_trace_model::Trace;
use ferrum_trace_model::vocab::device::CLOCK_ERROR_NS;
use ferrum_trace_model::vocab::{self, Phase, UNCLOSED};
pub(crate) use find::{MarkedSlice, find};
pub(crate) use host::inside;
pub(crate) use lookup::StepLookup;
pub(crate) use mark::phase_at_start;
pub(crate) use measured::Measured;
use std::collections::BTreeMap;
pub(crate) use tiles::{TileSource, Tiler};

/// Arguments that describe steps. They must be loaded with the trace.
pub const STEP_ARGS: [&str; 10] = [
    vocab::step::PHASE,
    vocab::step::BATCH,
    vocab::step::PREFILL_TOKENS,
    vocab::step::DECODE_TOKENS,
    vocab::step::CONTEXT_TOKENS,
    CORRELATION,
    EXTERNAL_ID,
    CLOCK_ERROR_NS,
    ORIGINAL_CATEGORY,
    UNCLOSED,
];

/// Options of [`steps()`].
#[derive(Clone, Debug, Default)]
pub struct StepsOptions {
    /// Phases to select; empty for all.
    pub phases: Vec<Phase>,
    /// Number of slowest steps to compare.
    pub n_slowest: usize,
    /// True if the file lists a device, see [`names_device`].
    pub names_device: bool,
    /// True to compute [`Steps::layer_times`]. The argument `layer` must be loaded then.
    pub by_layer: bool,
}

/// Returns true if the fields around the events of a file list a device, as torch.profiler writes them.
pub fn names_device(fields: &[(String, Vec<u8>)]) -> bool {
    fields.iter().any(|(key, value)| key == DEVICE_PROPERTIES && value.contains(&b'{'))
}

/// The steps of a trace. Times are nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    /// The steps, by start.
    pub steps: Vec<Step>,
    /// Number of steps by the tool that marked them.
    pub sources: Vec<(StepSource, u64)>,
    /// Number of tracks that have steps.
    pub n_tracks: usize,
    /// Number of marks inside another step, which are part of it.
    pub n_nested: usize,
    /// Number of steps that had not ended when the trace was written. They are in no figure.
    pub n_unfinished: usize,
    /// Groups by phase and batch size.
    pub groups: Vec<StepGroup>,
    /// All steps as one group.
    pub all: StepGroup,
    /// Time from the start of the first step to the end of the last.
    pub wall: i64,
    /// Time from the start of the first complete step to the end of the last.
    pub result_wall: i64,
    /// Number of steps of the file by phase; steps without a phase first.
    pub found_phases: Vec<(Option<Phase>, u64)>,
    /// Number of selected steps by phase, regardless of [`StepsOptions::phases`].
    pub phases: Vec<(Option<Phase>, u64)>,
    /// Time of steps that is in no slice, the largest sums first.
    pub gaps: Vec<GapSum>,
    /// Time of devices between kernels of one step, the largest sums first.
    pub idle_gaps: Vec<GapSum>,
    /// Number of kernels and copies by the way in which their steps were found; `None` if there are none.
    pub attribution: Option<Attribution>,
    /// Device time in steps, by operation.
    pub device_ops: OpTimes,
    /// Self time on the tracks of steps, by operation.
    pub host_ops: OpTimes,
    /// Time in steps by layer, if [`StepsOptions::by_layer`] is set.
    pub layer_times: Vec<LayerTime>,
    /// The steps that exceed the median of their group most, the slowest first.
    pub slowest: Vec<SlowStep>,
}

/// Analyzes the steps of a trace that are selected and of the selected phases.
pub fn steps(trace: &Trace, nesting: &Nesting, selected: &Selected, options: &StepsOptions) -> Steps {
    let Measured { steps, marked, works, idle_gaps, attribution, found } =
        Measured::of(trace, nesting, selected, options);
    let mut gaps = Gaps::default();
    for step in &marked {
        host::gaps(trace, nesting, step, |place, length| gaps.add(place, length));
    }
    let grouping = groups::group(&steps);
    Steps {
        sources: counts(steps.iter().map(|step| step.mark.source)),
        found_phases: counts(found.steps.iter().map(|it| it.mark.phase)),
        phases: counts(found.steps.iter().filter(|it| selected.contains(it.slice as usize)).map(|it| it.mark.phase)),
        n_tracks: n_tracks(trace, &steps),
        n_nested: found.n_nested,
        n_unfinished: found.n_unfinished,
        wall: wall(steps.iter()),
        result_wall: wall(steps.iter().filter(|step| !step.is_incomplete)),
        gaps: gaps.into_sorted(),
        idle_gaps: idle_gaps.into_sorted(),
        attribution: (attribution != Attribution::default()).then_some(attribution),
        device_ops: op_times::of_device(trace, &works),
        host_ops: op_times::of_host(trace, nesting, &marked),
        layer_times: if options.by_layer { layer_times::of_steps(trace, nesting, &marked, &works) } else { Vec::new() },
        slowest: slowest::slowest(trace, nesting, (&steps, &marked), &works, &grouping, options.n_slowest),
        all: groups::all(&steps),
        groups: grouping.groups,
        steps,
    }
}

/// Counts equal keys.
fn counts<K: Ord>(keys: impl Iterator<Item = K>) -> Vec<(K, u64)> {
    let mut counts: BTreeMap<K, u64> = BTreeMap::new();
    for key in keys {
        *counts.entry(key).or_default() += 1;
    }
    counts.into_iter().collect()
}

fn n_tracks(trace: &Trace, steps: &[Step]) -> usize {
    let mut tracks: Vec<_> = steps.iter().map(|step| trace.slices.track[step.slice as usize]).collect();
    tracks.sort_unstable();
    tracks.dedup();
    tracks.len()
}

fn wall<'a>(steps: impl Iterator<Item = &'a Step> + Clone) -> i64 {
    let first = steps.clone().map(|step| step.start).min().unwrap_or(0);
    steps.map(Step::end).max().unwrap_or(first).saturating_sub(first)
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod async_tests;
