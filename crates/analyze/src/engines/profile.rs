//! Profile of an engine: time by phase and class.

use super::class_times::{ClassTimes, sum};
use super::layer_count::{LayerCount, estimate};
use super::slice_classes;
use crate::figures::layer_search::LAYER_ARG;
use crate::ops::{ClassId, Rules};
use crate::steps::{MarkedSlice, Measured, STEP_ARGS, Step, StepSource, StepsOptions, Work, inside, works_of};
use crate::structure::nesting::Nesting;
use crate::structure::select::Selected;
use ferrum_trace_model::Trace;
use ferrum_trace_model::vocab::Phase;
use hashbrown::HashSet;
use std::collections::BTreeMap;

/// Arguments that a profile needs. They must be loaded with the trace.
pub fn profile_args() -> Vec<String> {
    STEP_ARGS.iter().chain([&LAYER_ARG]).map(|&key| key.to_owned()).collect()
}

/// Time of an engine by phase and class. Times are nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineProfile {
    /// Meaning of the times of classes.
    pub timed_on: TimedOn,
    /// Number of steps by the tool that marked them. Empty if the trace has no steps: then the whole trace is one unit.
    pub sources: Vec<(StepSource, u64)>,
    /// Phases; steps without a phase first.
    pub phases: Vec<PhaseProfile>,
    /// Number of devices that work.
    pub n_devices: usize,
    /// Estimated number of layers of the model, if there is evidence.
    pub layers: Option<LayerCount>,
    /// All kernels and copies of the trace, in steps or not.
    pub device: ClassTimes,
    /// Device time that belongs to no step.
    pub outside_steps: i64,
}

/// Meaning of the times of classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimedOn {
    /// Durations of kernels and copies.
    Device,
    /// Self times of spans on the host, because the trace has no work of a device.
    Host,
}

/// Time in the steps of one phase. Only complete steps are summed, unless none is complete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhaseProfile {
    /// The phase; `None` for steps of unknown phase, and for the whole trace.
    pub phase: Option<Phase>,
    /// Number of summed steps; zero if this is the whole trace.
    pub n_steps: u64,
    /// Number of steps whose device work is not completely in the file.
    pub n_incomplete: u64,
    /// True if incomplete steps are summed, because there are no others.
    pub sums_incomplete: bool,
    /// Number of prompt tokens; `None` if the marks do not state it.
    pub prefill_tokens: Option<u64>,
    /// Number of generated tokens; `None` if the marks do not state it.
    pub decode_tokens: Option<u64>,
    /// Sum of the batch sizes; `None` if the marks do not state them.
    pub sequences: Option<u64>,
    /// Sum of the context tokens; `None` if the marks do not state them.
    pub context_tokens: Option<u64>,
    /// Sum of the durations of the steps, or the span of the trace.
    pub duration: i64,
    /// Sum of the times in which a device works for a step.
    pub device_busy: i64,
    /// Time by class.
    pub times: ClassTimes,
}

impl PhaseProfile {
    /// Returns the tokens that a phase processes: prompt tokens in prefill, generated tokens in decode, both in mixed.
    pub fn tokens(&self) -> Option<u64> {
        let tokens = match self.phase? {
            Phase::Prefill => self.prefill_tokens,
            Phase::Decode => self.decode_tokens,
            Phase::Mixed => self.prefill_tokens?.checked_add(self.decode_tokens?),
        };
        tokens.filter(|&tokens| tokens > 0)
    }

    /// Returns the mean batch size.
    pub fn mean_batch(&self) -> Option<f64> {
        Some(self.sequences? as f64 / self.n_steps.max(1) as f64)
    }

    /// Returns the mean number of context tokens of a sequence.
    pub fn mean_context(&self) -> Option<f64> {
        let sequences = self.sequences.filter(|&n| n > 0)?;
        Some(self.context_tokens? as f64 / sequences as f64)
    }
}

/// Profiles an engine. `names_device` is true if the file lists a device.
pub fn profile(trace: &Trace, nesting: &Nesting, rules: &Rules, names_device: bool) -> EngineProfile {
    let options = StepsOptions { names_device, ..StepsOptions::default() };
    let Measured { steps, marked, works, attribution, .. } =
        Measured::of(trace, nesting, &Selected::all(trace), &options);
    let on_device = works_of(trace);
    let classes = slice_classes::of_device(trace, nesting, rules, &on_device);
    let n_devices = on_device.iter().flatten().collect::<HashSet<_>>().len();
    let on_device: Vec<usize> = (0..on_device.len()).filter(|&slice| on_device[slice].is_some()).collect();
    let duration = |slice: usize| (slice, trace.slices.duration[slice]);
    let device = sum(trace, &classes, on_device.iter().map(|&slice| duration(slice)));
    let timed_on = if on_device.is_empty() { TimedOn::Host } else { TimedOn::Device };
    let phases = match (steps.is_empty(), timed_on) {
        (true, TimedOn::Device) => vec![whole_trace(trace, device.clone())],
        (true, TimedOn::Host) => vec![whole_trace(trace, host_times(trace, nesting, rules))],
        (false, TimedOn::Device) => phases(&steps, |kept| of_works(trace, &classes, &works, kept)),
        (false, TimedOn::Host) => {
            let classes = slice_classes::of_host(trace, rules);
            phases(&steps, |kept| of_host(trace, nesting, &classes, &marked, kept))
        }
    };
    EngineProfile {
        timed_on,
        sources: sources(&steps),
        phases,
        n_devices,
        layers: estimate(trace, nesting, rules, &classes, &steps, &works),
        device,
        outside_steps: attribution.outside_total,
    }
}

/// Returns the number of steps by the tool that marked them.
fn sources(steps: &[Step]) -> Vec<(StepSource, u64)> {
    let mut sources: BTreeMap<StepSource, u64> = BTreeMap::new();
    for step in steps {
        *sources.entry(step.mark.source).or_default() += 1;
    }
    sources.into_iter().collect()
}

fn whole_trace(trace: &Trace, times: ClassTimes) -> PhaseProfile {
    PhaseProfile { duration: trace.census.span(), times, ..PhaseProfile::default() }
}

fn host_times(trace: &Trace, nesting: &Nesting, rules: &Rules) -> ClassTimes {
    let classes = slice_classes::of_host(trace, rules);
    sum(trace, &classes, nesting.self_time.iter().copied().enumerate())
}

/// Returns the profile of each phase. `times` returns the times of some steps, by their indices.
fn phases(steps: &[Step], times: impl Fn(&[usize]) -> ClassTimes) -> Vec<PhaseProfile> {
    let mut by_phase: BTreeMap<Option<Phase>, Vec<usize>> = BTreeMap::new();
    for (place, step) in steps.iter().enumerate() {
        by_phase.entry(step.mark.phase).or_default().push(place);
    }
    by_phase.into_iter().map(|(phase, places)| of_phase(phase, steps, &places, &times)).collect()
}

fn of_phase(
    phase: Option<Phase>,
    steps: &[Step],
    places: &[usize],
    times: impl Fn(&[usize]) -> ClassTimes,
) -> PhaseProfile {
    let complete: Vec<usize> = places.iter().copied().filter(|&place| !steps[place].is_incomplete).collect();
    let n_incomplete = (places.len() - complete.len()) as u64;
    let kept = if complete.is_empty() { places } else { &complete };
    let sum_of = |count: fn(&Step) -> Option<u64>| {
        kept.iter().try_fold(0_u64, |sum, &place| Some(sum.saturating_add(count(&steps[place])?)))
    };
    let time_of =
        |time: fn(&Step) -> i64| kept.iter().fold(0_i64, |sum, &place| sum.saturating_add(time(&steps[place])));
    PhaseProfile {
        phase,
        n_steps: kept.len() as u64,
        n_incomplete,
        sums_incomplete: complete.is_empty(),
        prefill_tokens: sum_of(|step| step.mark.prefill_tokens),
        decode_tokens: sum_of(|step| step.mark.decode_tokens),
        sequences: sum_of(|step| step.mark.batch),
        context_tokens: sum_of(|step| step.mark.context_tokens),
        duration: time_of(|step| step.duration),
        device_busy: time_of(|step| step.device.busy),
        times: times(kept),
    }
}

/// Returns the durations of the kernels and copies of steps, whose indices are sorted.
fn of_works(trace: &Trace, classes: &[Option<ClassId>], works: &[Work], kept: &[usize]) -> ClassTimes {
    let is_kept = |work: &&Work| kept.binary_search(&(work.step as usize)).is_ok();
    let slices = works.iter().filter(is_kept).map(|work| work.slice as usize);
    sum(trace, classes, slices.map(|slice| (slice, trace.slices.duration[slice])))
}

/// Returns the self times of the spans in steps, on the tracks of the steps.
fn of_host(
    trace: &Trace,
    nesting: &Nesting,
    classes: &[Option<ClassId>],
    marked: &[MarkedSlice],
    kept: &[usize],
) -> ClassTimes {
    let slices = kept.iter().filter_map(|&place| marked.get(place)).flat_map(|step| inside(trace, nesting, step));
    sum(trace, classes, slices.map(|&slice| (slice as usize, nesting.self_time[slice as usize])))
}
