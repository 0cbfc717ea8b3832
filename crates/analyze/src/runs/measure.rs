//! Reduces a trace to the figures of a run and a profile.

use super::facts::{LayerCount, LossCounts, RunFacts};
use super::metric;
use super::origin::Origins;
use super::outliers;
use super::parts::PartCollector;
use super::profile::{Place, Profile, StratumProfile, Unit};
use super::run::{PhaseFigures, Run, StratumFigures};
use super::stack_collector::StackCollector;
use super::stacks::Stacks;
use super::stratum::Stratum;
use crate::figures::percentile::Distribution;
use crate::ops::Ops;
use crate::requests::{Figure, RequestsOptions, requests};
use crate::stats;
use crate::steps::{Measured, Step, StepsOptions, Tiler, find, inside};
use crate::structure::both::both;
use crate::structure::nesting::Nesting;
use crate::structure::select::Selected;
use ferrum_trace_model::Trace;
use ferrum_trace_model::vocab::{Op, Phase};
use std::collections::{BTreeMap, BTreeSet};

/// Quantile of the durations that stands for an undisturbed step.
const UNDISTURBED: f64 = 0.1;

/// Facts about a trace that its columns do not have.
#[derive(Clone, Debug, Default)]
pub struct TraceInfo {
    /// Its name.
    pub name: String,
    /// Its ranks, as far as known.
    pub ranks: Vec<u32>,
    /// Its start in nanoseconds since 1970, if known.
    pub start_unix_ns: Option<i64>,
    /// Names of the devices that the file lists.
    pub devices: Vec<String>,
    /// Data that is known to be missing.
    pub losses: LossCounts,
}

/// Options of [`measure`].
#[derive(Clone, Debug, Default)]
pub struct MeasureOptions {
    /// Phases to select; empty for all.
    pub phases: Vec<Phase>,
    /// Compute how stable the run is internally. It is needed if a side has one run only.
    pub stability: bool,
    /// Collect the call stacks of the steps, for a flame graph.
    pub stacks: bool,
}

/// Figures and profile of one trace.
#[derive(Clone, Debug, Default)]
pub struct MeasuredTrace {
    /// The figures.
    pub run: Run,
    /// The time of its steps by part.
    pub profile: Profile,
    /// The call stacks of its steps, if they were asked for.
    pub stacks: Option<Stacks>,
}

/// Measures a trace. The arguments [`STEP_ARGS`](crate::STEP_ARGS), [`REQUEST_ARGS`](crate::REQUEST_ARGS) and
/// [`LAYER_ARG`](crate::LAYER_ARG) must be loaded.
pub fn measure(
    trace: &Trace,
    nesting: &Nesting,
    selected: &Selected,
    info: TraceInfo,
    options: &MeasureOptions,
) -> MeasuredTrace {
    let names_device = !info.devices.is_empty();
    let step_options = StepsOptions { phases: options.phases.clone(), names_device, ..StepsOptions::default() };
    let found = find(trace);
    let has_steps = !found.steps.is_empty();
    let steps = || match has_steps {
        // Finding the launches of kernels takes time, and is of no use without steps.
        false => Measured::default(),
        true => Measured::with(found, trace, nesting, selected, &step_options),
    };
    let (origins, measured) = both(|| Origins::of(trace, nesting), steps);
    let mut run = Run {
        names: vec![info.name],
        ranks: info.ranks,
        start_unix_ns: info.start_unix_ns,
        facts: facts(trace, &origins, &measured, info.devices, info.losses),
        ..Run::default()
    };
    add_request_figures(trace, nesting, names_device, &mut run.figures);
    let unit = if has_steps { Unit::Step } else { Unit::Trace };
    let mut stacks = options.stacks.then(|| StackCollector::new(trace, nesting, &origins, unit));
    let profile = if !has_steps {
        run.figures.insert(metric::SPAN.to_owned(), trace.census.span() as f64);
        run.figures.insert(metric::BUSY.to_owned(), nesting.total_self() as f64);
        stacks.iter_mut().for_each(|stacks| stacks.add_whole_trace(selected));
        whole_trace(trace, nesting, selected, &origins)
    } else {
        let steps = StepSet::of(&measured);
        run.warm_up_steps = steps.n_warm_up as u64;
        steps.add_figures(&mut run, options);
        steps.profile(trace, nesting, &origins, stacks.as_mut())
    };
    MeasuredTrace { run, profile, stacks: stacks.map(StackCollector::finish) }
}

/// Steps that count: complete, after the warm-up, with their strata.
struct StepSet<'a> {
    measured: &'a Measured,
    n_warm_up: usize,
    /// Indices of the steps of each stratum, in time order.
    strata: BTreeMap<Stratum, Vec<usize>>,
}

impl<'a> StepSet<'a> {
    fn of(measured: &'a Measured) -> Self {
        let steps = &measured.steps;
        let has_complete = steps.iter().any(|step| !step.is_incomplete);
        let counts = |place: &usize| !has_complete || !steps[*place].is_incomplete;
        let mut places: Vec<usize> = (0..steps.len()).filter(counts).collect();
        let n_warm_up = stats::warm_up(&relative(steps, &places, &by_stratum(steps, &places)));
        places.drain(..n_warm_up.min(places.len()));
        Self { measured, n_warm_up, strata: by_stratum(steps, &places) }
    }

    fn steps(&self) -> &'a [Step] {
        &self.measured.steps
    }

    fn durations(&self, places: &[usize]) -> Vec<f64> {
        places.iter().map(|&place| self.steps()[place].duration as f64).collect()
    }

    fn add_figures(&self, run: &mut Run, options: &MeasureOptions) {
        for (&stratum, places) in &self.strata {
            let mut durations = self.durations(places);
            durations.sort_by(f64::total_cmp);
            let Some(undisturbed_ns) = stats::quantile(&durations, UNDISTURBED) else { continue };
            let busy: Vec<f64> = places.iter().map(|&place| self.steps()[place].device.busy as f64).collect();
            run.strata.push(StratumFigures {
                stratum,
                count: places.len() as u64,
                total_ns: places.iter().fold(0, |sum, &place| sum.saturating_add(self.steps()[place].duration)),
                undisturbed_ns,
                device_busy_ns: stats::median(&busy).filter(|&busy| busy > 0.0),
            });
        }
        self.add_rates(&mut run.figures);
        for (phase, places) in self.by_phase() {
            run.phases.push(self.phase_figures(phase, &places, options.stability));
            self.add_distribution(phase, &places, &mut run.figures);
        }
    }

    /// Returns the steps of each phase, in time order.
    fn by_phase(&self) -> BTreeMap<Option<Phase>, Vec<usize>> {
        let mut phases: BTreeMap<Option<Phase>, Vec<usize>> = BTreeMap::new();
        for (stratum, places) in &self.strata {
            phases.entry(stratum.phase).or_default().extend(places);
        }
        phases.values_mut().for_each(|places| places.sort_unstable());
        phases
    }

    fn phase_figures(&self, phase: Option<Phase>, places: &[usize], stability: bool) -> PhaseFigures {
        let relative = relative(self.steps(), places, &self.strata);
        let interval = stability.then(|| stats::block_bootstrap(&relative, 0.95, stats::Statistic::Median)).flatten();
        PhaseFigures {
            phase: phase.map(|phase| phase.as_str().to_owned()),
            stability: interval.map(|interval| (interval.low.exp(), interval.high.exp())),
            modes: stats::two_modes(&relative).map(|modes| (modes.low.exp(), modes.high.exp(), modes.share_high)),
        }
    }

    fn add_distribution(&self, phase: Option<Phase>, places: &[usize], figures: &mut BTreeMap<String, f64>) {
        let mut durations: Vec<i64> = places.iter().map(|&place| self.steps()[place].duration).collect();
        let prefix = phase.map_or_else(|| metric::STEP.to_owned(), |phase| format!("{}.{phase}", metric::STEP));
        add_figure(figures, &prefix, &Figure::of(std::mem::take(&mut durations)));
    }

    /// Adds tokens per second of the time from the first to the last step.
    fn add_rates(&self, figures: &mut BTreeMap<String, f64>) {
        let steps = || self.strata.values().flatten().map(|&place| &self.steps()[place]);
        let (first, last) = (steps().map(|step| step.start).min(), steps().map(Step::end).max());
        let Some((first, last)) = first.zip(last).filter(|(first, last)| first < last) else { return };
        let seconds = last.saturating_sub(first) as f64 / 1e9;
        let mut add = |name: &str, tokens: fn(&Step) -> Option<u64>| {
            let sum = steps().filter_map(tokens).fold(0, u64::saturating_add);
            if sum > 0 {
                figures.insert(name.to_owned(), sum as f64 / seconds);
            }
        };
        add(metric::TOKENS_PER_S, |step| step.mark.decode_tokens);
        add(metric::PROMPT_TOKENS_PER_S, |step| step.mark.prefill_tokens);
    }

    fn profile(
        &self,
        trace: &Trace,
        nesting: &Nesting,
        origins: &Origins,
        mut stacks: Option<&mut StackCollector>,
    ) -> Profile {
        let mut parts = PartCollector::new(trace, origins);
        let ranges = self.work_ranges();
        let mut tiler = Tiler::default();
        for (&stratum, places) in &self.strata {
            let limit = outliers::limit(&self.durations(places));
            let mut sum = StratumProfile::default();
            for &place in places {
                let step = &self.steps()[place];
                if step.duration as f64 > limit {
                    sum.n_outliers += 1;
                    sum.outliers_ns = sum.outliers_ns.saturating_add(step.duration);
                    continue;
                }
                sum.n_typical += 1;
                sum.typical_ns = sum.typical_ns.saturating_add(step.duration);
                let works = self.measured.works.get(ranges[place].clone()).unwrap_or_default();
                let marked = &self.measured.marked[place];
                let has_host = step.split.host > 0 || step.split.both > 0;
                stacks.iter_mut().for_each(|stacks| stacks.begin_step(marked, works, has_host));
                tiler.tiles(trace, nesting, (step, marked), works, |source, time| {
                    parts.add_tile(source, time);
                    stacks.iter_mut().for_each(|stacks| stacks.add_tile(source, time));
                });
                if has_host {
                    for &slice in inside(trace, nesting, marked) {
                        parts.count(slice, Place::Host, origins.position[slice as usize]);
                    }
                }
                for (work, position) in works.iter().zip(0..) {
                    parts.count(work.slice, Place::Device, position);
                }
            }
            stacks.iter_mut().for_each(|stacks| stacks.end_stratum(stratum, sum.n_steps(), sum.n_typical));
            parts.end_stratum(stratum, sum);
        }
        let mut profile = Profile::new(Unit::Step);
        parts.finish(&mut profile);
        profile
    }

    /// Returns the range of the device work of each step.
    fn work_ranges(&self) -> Vec<std::ops::Range<usize>> {
        let works = &self.measured.works;
        let mut at = 0;
        let range = |place: usize| {
            let n_works = works.get(at..).unwrap_or_default().iter().take_while(|it| it.step as usize == place).count();
            at += n_works;
            at - n_works..at
        };
        (0..self.steps().len()).map(range).collect()
    }
}

/// Groups steps by stratum, in time order.
fn by_stratum(steps: &[Step], places: &[usize]) -> BTreeMap<Stratum, Vec<usize>> {
    let mut strata: BTreeMap<Stratum, Vec<usize>> = BTreeMap::new();
    for &place in places {
        strata.entry(Stratum::of(&steps[place].mark)).or_default().push(place);
    }
    strata
}

/// Returns the logarithms of durations, each relative to the median of its stratum.
fn relative(steps: &[Step], places: &[usize], strata: &BTreeMap<Stratum, Vec<usize>>) -> Vec<f64> {
    let log = |place: usize| (steps[place].duration.max(1) as f64).ln();
    let middle = |places: &Vec<usize>| {
        let logs: Vec<f64> = places.iter().map(|&place| log(place)).collect();
        stats::median(&logs).unwrap_or(0.0)
    };
    let medians: BTreeMap<&Stratum, f64> = strata.iter().map(|(stratum, places)| (stratum, middle(places))).collect();
    let of_stratum = |place: usize| medians.get(&Stratum::of(&steps[place].mark)).copied().unwrap_or(0.0);
    places.iter().map(|&place| log(place) - of_stratum(place)).collect()
}

/// Returns the profile of a trace without steps: the self time of all slices.
fn whole_trace(trace: &Trace, nesting: &Nesting, selected: &Selected, origins: &Origins) -> Profile {
    let mut parts = PartCollector::new(trace, origins);
    let mut sum = StratumProfile { n_typical: 1, ..StratumProfile::default() };
    for slice in selected.iter() {
        let time = nesting.self_time[slice];
        let place = if origins.is_device[slice] { Place::Device } else { Place::Host };
        sum.typical_ns = sum.typical_ns.saturating_add(time);
        parts.add_slice(slice as u32, place, origins.position[slice], time);
    }
    let mut profile = Profile::new(Unit::Trace);
    parts.end_stratum(Stratum::default(), sum);
    parts.finish(&mut profile);
    profile
}

fn add_request_figures(trace: &Trace, nesting: &Nesting, names_device: bool, figures: &mut BTreeMap<String, f64>) {
    let found = requests(trace, nesting, &RequestsOptions { names_device, ..RequestsOptions::default() });
    let of_requests = &found.figures;
    let all = [&of_requests.ttft, &of_requests.tpot, &of_requests.itl, &of_requests.e2el, &of_requests.queue];
    for (name, figure) in metric::OF_REQUESTS.iter().zip(all) {
        add_figure(figures, name, figure);
    }
}

/// Adds the statistics of a distribution, if it has any values.
fn add_figure(figures: &mut BTreeMap<String, f64>, name: &str, figure: &Figure) {
    if figure.count == 0 {
        return;
    }
    let Distribution { p50, p95, p99, max, .. } = figure.values;
    let values = [figure.mean, p50 as f64, p95 as f64, p99 as f64, max as f64];
    for (statistic, value) in metric::STATISTICS.iter().zip(values) {
        figures.insert(format!("{name}.{statistic}"), value);
    }
}

fn facts(trace: &Trace, origins: &Origins, measured: &Measured, devices: Vec<String>, losses: LossCounts) -> RunFacts {
    let steps = &measured.steps;
    let sum = |time: fn(&Step) -> i64| steps.iter().map(time).fold(0, i64::saturating_add);
    let contexts = || steps.iter().filter(|step| step.mark.phase == Some(Phase::Decode));
    let contexts = || contexts().filter_map(|step| step.mark.context_tokens);
    let sources: BTreeSet<&str> = steps.iter().map(|step| step.mark.source.name()).collect();
    RunFacts {
        n_traces: 1,
        n_slices: trace.slices.len() as u64,
        layers: layers(trace, origins, measured),
        devices,
        n_kernels: origins.is_device.iter().filter(|&&is_device| is_device).count() as u64,
        n_incomplete_steps: steps.iter().filter(|step| step.is_incomplete).count() as u64,
        n_unanswered_launches: steps.iter().map(|step| u64::from(step.n_unanswered)).sum(),
        n_unfinished_steps: measured.found.n_unfinished as u64,
        step_sources: sources.into_iter().map(str::to_owned).collect(),
        mark_ns: sum(|step| step.mark_duration),
        unexplained_ns: sum(|step| step.unexplained),
        context_tokens: (contexts().fold(0, u64::saturating_add), contexts().count() as u64),
        losses,
    }
}

/// Returns the number of layers that slices name, or else the number of attention operations of the median step.
fn layers(trace: &Trace, origins: &Origins, measured: &Measured) -> Option<LayerCount> {
    let named = origins.different_layers();
    if named.len() > 1 {
        return Some(LayerCount { count: named.len() as u32, is_estimate: false });
    }
    let mut ops = Ops::of(trace);
    let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
    for work in &measured.works {
        let slice = work.slice as usize;
        // A step stores keys and values once per layer; attention may take several kernels.
        if ops.get(trace, trace.slices.category[slice], trace.slices.name[slice]) == Some(Op::KvCache) {
            *counts.entry(work.step).or_default() += 1;
        }
    }
    let mut counts: Vec<u32> = counts.into_values().collect();
    counts.sort_unstable();
    let count = counts.get(counts.len() / 2).copied().filter(|&count| count > 1)?;
    Some(LayerCount { count, is_estimate: true })
}
