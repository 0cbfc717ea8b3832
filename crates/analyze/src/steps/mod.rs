//! Steps of an engine: how long each takes, how much of that is explained, and what is different in the slow ones.
//!
//! What counts as a step is told in the table of [`StepSource`]'s spellings in `mark.rs` and in `docs/steps-and-requests.md`.

mod device;
mod find;
mod groups;
mod host;
mod lookup;
mod mark;
mod op_times;
mod origins;
mod slowest;

pub use device::{Attribution, CORRELATION, DeviceTime};
pub use groups::{BatchRange, StepGroup};
pub use mark::{Mark, StepSource};
pub use op_times::{NameTime, OpTime, OpTimes};
pub use slowest::{Difference, SlowStep, What};

use crate::gaps::{GapPlace, GapSum, Gaps};
use crate::{Nesting, Selected};
use device::Work;
use ferrum_trace_model::Trace;
use ferrum_trace_model::vocab::device::CLOCK_ERROR_NS;
use ferrum_trace_model::vocab::{Phase, step};
pub(crate) use find::{MarkedSlice, find};

/// The arguments that steps are described by. Ask for them when loading.
pub const STEP_ARGS: [&str; 7] = [
    step::PHASE,
    step::BATCH,
    step::PREFILL_TOKENS,
    step::DECODE_TOKENS,
    step::CONTEXT_TOKENS,
    CORRELATION,
    CLOCK_ERROR_NS,
];

/// How to make [`Steps`].
#[derive(Clone, Debug, Default)]
pub struct StepsOptions {
    /// Only steps of these phases; all if there are none.
    pub phases: Vec<Phase>,
    /// How many of the slowest steps are looked at.
    pub n_slowest: usize,
}

/// One step. Times are nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The slice that marks it.
    pub slice: u32,
    /// What the mark says.
    pub mark: Mark,
    /// When it begins.
    pub start: i64,
    /// How long it takes.
    pub duration: i64,
    /// The part of it that is in no slice of its track.
    pub unexplained: i64,
    /// What devices do for it.
    pub device: DeviceTime,
}

impl Step {
    /// When it ends.
    pub fn end(&self) -> i64 {
        self.start.saturating_add(self.duration)
    }
}

/// The steps of a trace. Times are nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    /// By their start.
    pub steps: Vec<Step>,
    /// Who marked them, and how many.
    pub sources: Vec<(StepSource, u64)>,
    /// How many tracks have steps.
    pub n_tracks: usize,
    /// Marks that lie in another step, and are part of it.
    pub n_nested: usize,
    /// By phase and size of the batch.
    pub groups: Vec<StepGroup>,
    /// All of them as one group.
    pub all: StepGroup,
    /// From the start of the first to the end of the last.
    pub wall: i64,
    /// Time of steps that is in no slice, the largest sums first.
    pub gaps: Vec<GapSum>,
    /// Time of devices between kernels of one step, the largest sums first.
    pub idle_gaps: Vec<GapSum>,
    /// How all kernels and copies of the trace came to their steps; `None` if there are none.
    pub attribution: Option<Attribution>,
    /// What devices do in steps, by what it is for.
    pub device_ops: OpTimes,
    /// What the tracks of steps do in them, by what it is for: self times.
    pub host_ops: OpTimes,
    /// Those that take longest for what they are, the worst first.
    pub slowest: Vec<SlowStep>,
}

/// Looks at the steps of a trace: those that are selected and of the phases that are asked for.
pub fn steps(trace: &Trace, nesting: &Nesting, selected: &Selected, options: &StepsOptions) -> Steps {
    let found = find(trace);
    let (works, attribution) = device::attribute(trace, &found);
    let is_wanted = |step: &MarkedSlice| {
        let is_phase = |&phase: &Phase| step.mark.phase == Some(phase);
        selected.contains(step.slice as usize) && (options.phases.is_empty() || options.phases.iter().any(is_phase))
    };
    let (marked, works) = keep(&found.steps, works, is_wanted);
    let (device_times, idle_gaps) = device::times(trace, &works, marked.len());
    let steps: Vec<Step> =
        marked.iter().zip(device_times).map(|(step, device)| described(trace, nesting, step, device)).collect();
    let mut gaps = Gaps::default();
    for step in &marked {
        host::gaps(trace, nesting, step, |place, length| gaps.add(place, length));
    }
    let grouping = groups::group(&steps);
    Steps {
        sources: sources(&steps),
        n_tracks: n_tracks(trace, &steps),
        n_nested: found.n_nested,
        wall: wall(&steps),
        gaps: gaps.into_sorted(),
        idle_gaps: idle_gaps.into_sorted(),
        attribution: (attribution != Attribution::default()).then_some(attribution),
        device_ops: op_times::of_device(trace, &works),
        host_ops: op_times::of_host(trace, nesting, &marked),
        slowest: slowest::slowest(trace, nesting, &steps, &works, &grouping, options.n_slowest),
        all: groups::all(&steps),
        groups: grouping.groups,
        steps,
    }
}

/// The steps that are wanted, and what devices do for them.
fn keep(
    steps: &[MarkedSlice],
    works: Vec<Work>,
    is_wanted: impl Fn(&MarkedSlice) -> bool,
) -> (Vec<MarkedSlice>, Vec<Work>) {
    let mut kept = Vec::new();
    let mut places = vec![None; steps.len()];
    for (place, step) in steps.iter().enumerate().filter(|(_, step)| is_wanted(step)) {
        places[place] = Some(kept.len() as u32);
        kept.push(*step);
    }
    let works = works.into_iter().filter_map(|work| Some(Work { step: places[work.step as usize]?, ..work })).collect();
    (kept, works)
}

fn described(trace: &Trace, nesting: &Nesting, step: &MarkedSlice, device: DeviceTime) -> Step {
    let slice = step.slice as usize;
    Step {
        slice: step.slice,
        mark: step.mark,
        start: trace.slices.start[slice],
        duration: trace.slices.duration[slice],
        unexplained: nesting.self_time[slice],
        device,
    }
}

fn sources(steps: &[Step]) -> Vec<(StepSource, u64)> {
    let mut counts: std::collections::BTreeMap<StepSource, u64> = std::collections::BTreeMap::new();
    for step in steps {
        *counts.entry(step.mark.source).or_default() += 1;
    }
    counts.into_iter().collect()
}

fn n_tracks(trace: &Trace, steps: &[Step]) -> usize {
    let mut tracks: Vec<_> = steps.iter().map(|step| trace.slices.track[step.slice as usize]).collect();
    tracks.sort_unstable();
    tracks.dedup();
    tracks.len()
}

fn wall(steps: &[Step]) -> i64 {
    let first = steps.iter().map(|step| step.start).min().unwrap_or(0);
    steps.iter().map(Step::end).max().unwrap_or(first).saturating_sub(first)
}

/// The longest stretch of a step that is in no slice.
fn longest_gap(trace: &Trace, nesting: &Nesting, step: &MarkedSlice) -> Option<(GapPlace, i64)> {
    let mut longest: Option<(GapPlace, i64)> = None;
    host::gaps(trace, nesting, step, |place, length| {
        if longest.is_none_or(|(_, so_far)| so_far < length) {
            longest = Some((place, length));
        }
    });
    longest
}

#[cfg(test)]
mod tests;
