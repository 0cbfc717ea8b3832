//! Steps of a trace with the slices behind them, before any sums.

use super::device::{self, Attributed, Attribution, DeviceTime, Work};
use super::find::{Found, MarkedSlice, find};
use super::results::{self, Flight};
use super::span::{self, StepSpan};
use super::step::Step;
use super::{StepsOptions, missing_device_work};
use crate::structure::gaps::Gaps;
use crate::structure::nesting::Nesting;
use crate::structure::select::Selected;
use ferrum_trace_model::Trace;
use ferrum_trace_model::vocab::Phase;

/// Steps that are selected, with their marks and device work.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    /// The steps, by start.
    pub(crate) steps: Vec<Step>,
    /// Mark of each step.
    pub(crate) marked: Vec<MarkedSlice>,
    /// Device work of the steps, by step, device and start.
    pub(crate) works: Vec<Work>,
    /// Gaps between kernels of a step.
    pub(crate) idle_gaps: Gaps,
    /// Number of kernels and copies of the trace by the way in which their steps were found.
    pub(crate) attribution: Attribution,
    /// All steps of the trace, selected or not.
    pub(crate) found: Found,
}

impl Measured {
    /// Finds and measures the steps of a trace that are selected and of the selected phases.
    pub(crate) fn of(trace: &Trace, nesting: &Nesting, selected: &Selected, options: &StepsOptions) -> Self {
        Self::with(find(trace), trace, nesting, selected, options)
    }

    /// Like [`of`](Self::of), for steps that have been found.
    pub(crate) fn with(
        found: Found,
        trace: &Trace,
        nesting: &Nesting,
        selected: &Selected,
        options: &StepsOptions,
    ) -> Self {
        let attributed = device::attribute(trace, &found);
        let timed = Timed::of(trace, &found, &attributed, selected, options);
        let is_wanted = |step: &MarkedSlice| {
            let is_phase = |&phase: &Phase| step.mark.phase == Some(phase);
            selected.contains(step.slice as usize) && (options.phases.is_empty() || options.phases.iter().any(is_phase))
        };
        let attribution = attributed.sums;
        let (places, works) = keep(&found.steps, attributed.works, is_wanted);
        let marked: Vec<MarkedSlice> = places.iter().map(|&place| found.steps[place]).collect();
        let (device_times, idle_gaps) = device::times(trace, &works, marked.len());
        let described = |(&place, device)| timed.step(trace, nesting, &found, place, device);
        let steps: Vec<Step> = places.iter().zip(device_times).map(described).collect();
        Self { steps, marked, works, idle_gaps, attribution, found }
    }
}

/// Returns the indices of the wanted steps, and the device work for them.
fn keep(steps: &[MarkedSlice], works: Vec<Work>, is_wanted: impl Fn(&MarkedSlice) -> bool) -> (Vec<usize>, Vec<Work>) {
    let mut kept = Vec::new();
    let mut places = vec![None; steps.len()];
    for (place, _) in steps.iter().enumerate().filter(|(_, step)| is_wanted(step)) {
        places[place] = Some(kept.len() as u32);
        kept.push(place);
    }
    let works = works.into_iter().filter_map(|work| Some(Work { step: places[work.step as usize]?, ..work })).collect();
    (kept, works)
}

/// Times of all steps of a trace, one entry per step in each list.
struct Timed {
    spans: Vec<StepSpan>,
    incomplete: Vec<bool>,
    n_unanswered: Vec<u32>,
    result_times: Vec<i64>,
}

impl Timed {
    fn of(trace: &Trace, found: &Found, attributed: &Attributed, selected: &Selected, options: &StepsOptions) -> Self {
        let spans = span::spans(trace, found, &attributed.works);
        let incomplete = missing_device_work::incomplete(trace, found, attributed, options.names_device);
        let tracks: Vec<_> = found.steps.iter().map(|step| trace.slices.track[step.slice as usize]).collect();
        let engines = results::engines(trace, &tracks, &attributed.works);
        // Steps that are not selected are ignored; steps of other phases take part and keep their time.
        let takes_part = |&place: &usize| !incomplete[place] && selected.contains(found.steps[place].slice as usize);
        let places: Vec<usize> = (0..spans.len()).filter(takes_part).collect();
        let flight = |&place: &usize| {
            let StepSpan { start, end, .. } = spans[place];
            Flight { engine: engines[place], start, end }
        };
        let flights: Vec<Flight> = places.iter().map(flight).collect();
        let mut result_times = vec![0; spans.len()];
        for (&place, share) in places.iter().zip(results::shares(&flights)) {
            result_times[place] = share;
        }
        Self { spans, incomplete, n_unanswered: attributed.n_unanswered.clone(), result_times }
    }

    fn step(&self, trace: &Trace, nesting: &Nesting, found: &Found, place: usize, device: DeviceTime) -> Step {
        let MarkedSlice { slice, mark, .. } = found.steps[place];
        let StepSpan { start, end, device_end, split } = self.spans[place];
        Step {
            slice,
            mark,
            start,
            duration: end.saturating_sub(start),
            split,
            mark_duration: trace.slices.duration[slice as usize],
            unexplained: nesting.self_time[slice as usize],
            device,
            device_end,
            n_unanswered: self.n_unanswered[place],
            is_incomplete: self.incomplete[place],
            result_time: self.result_times[place],
        }
    }
}
