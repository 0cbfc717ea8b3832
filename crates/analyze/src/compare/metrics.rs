//! Compares metrics of two sides.

use super::figures::{LogFigures, log_figures, of_stratum};
use super::sides::{CompareOptions, Sides};
use super::verdict::{RatioInterval, Verdict};
use crate::runs::metric::{self, DEVICE_BUSY, MetricUnit, STEP};
use crate::runs::{Run, Stratum};
use crate::stats::{self, Block, Design, TwoSided};
use ferrum_trace_model::vocab::Phase;
use std::collections::{BTreeMap, BTreeSet};

/// Headline metrics that every comparison looks at, in the order of the report. They are corrected for each other.
pub const HEADLINES: [&str; 6] = [STEP, metric::TOKENS_PER_S, metric::TTFT, metric::TPOT, metric::QUEUE, DEVICE_BUSY];
/// Headline metrics of traces without steps.
const HEADLINES_OF_TRACES: [&str; 2] = [metric::SPAN, metric::BUSY];

/// Comparison of one metric. Times are nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricComparison {
    /// Its name, such as `step.decode`.
    pub name: String,
    /// Its unit.
    pub unit: MetricUnit,
    /// Median over the base runs; `None` if no run has the figure.
    pub base: Option<f64>,
    /// Median over the new runs.
    pub new: Option<f64>,
    /// Number of base and new runs that have the figure.
    pub n_runs: (usize, usize),
    /// Estimate of the ratio, new to base.
    pub ratio: Option<f64>,
    /// Interval of the ratio at the confidence level of the comparison. `None` with one run per side.
    pub interval: Option<RatioInterval>,
    /// P value of the exact test.
    pub p_value: Option<f64>,
    /// P value corrected for the other headline metrics; the same as `p_value` for details.
    pub p_adjusted: Option<f64>,
    /// Range of the ratio that the instability within the two runs allows, with one run per side.
    pub instability: Option<RatioInterval>,
    /// True if the test compared neighboring runs only.
    pub is_paired: bool,
    /// The verdict.
    pub verdict: Verdict,
}

/// Share of the error rate that [`STEP`] gets among the headline metrics. The others share the rest, so that they take
/// little of its power, and all of it if steps differ.
const SHARE_OF_STEP: f64 = 0.8;

/// Shares of the error rate.
struct Shares {
    is_step_first: bool,
    /// Number of metrics that are tested, at least 1.
    n_tests: usize,
}

impl Shares {
    fn of(names: &[String], figures: &[Option<LogFigures>], options: &CompareOptions) -> Self {
        let tested = names.iter().zip(figures).filter(|(_, figures)| figures.as_ref().is_some_and(is_tested));
        let tested: Vec<&String> = tested.map(|(name, _)| name).collect();
        let is_step_first = options.metrics.is_empty() && tested.len() > 1 && tested.iter().any(|name| *name == STEP);
        Self { is_step_first, n_tests: tested.len().max(1) }
    }

    /// Returns the share of a metric.
    fn of_metric(&self, name: &str) -> f64 {
        match self.is_step_first {
            true if name == STEP => SHARE_OF_STEP,
            true => (1.0 - SHARE_OF_STEP) / (self.n_tests - 1) as f64,
            false => 1.0 / self.n_tests as f64,
        }
    }
}

/// Compares the headline metrics that both sides have, or those that were asked for.
pub(super) fn headlines(sides: &Sides, options: &CompareOptions) -> Vec<MetricComparison> {
    let names: Vec<String> = match &options.metrics[..] {
        [] => default_names(sides),
        names => names.to_vec(),
    };
    let figures: Vec<Option<LogFigures>> =
        names.iter().map(|name| log_figures(name, sides.base.runs, sides.new.runs)).collect();
    let shares = Shares::of(&names, &figures, options);
    let mut compared: Vec<MetricComparison> = names
        .iter()
        .zip(&figures)
        .map(|(name, figures)| compare_one(name, figures.as_ref(), sides, options, shares.of_metric(name)))
        .collect();
    let tested = compared.iter().filter_map(|it| Some((it.p_value?, shares.of_metric(&it.name))));
    let (p_values, weights): (Vec<f64>, Vec<f64>) = tested.unzip();
    let mut adjusted = stats::weighted_holm(&p_values, &weights).into_iter();
    for metric in compared.iter_mut().filter(|it| it.p_value.is_some()) {
        metric.p_adjusted = adjusted.next();
    }
    for (metric, figures) in compared.iter_mut().zip(&figures) {
        metric.decide(figures.as_ref(), sides, options);
    }
    compared
}

/// Compares step times by phase, if there are several, and by stratum. These explain, and are not corrected.
pub(super) fn details(sides: &Sides, options: &CompareOptions) -> Vec<MetricComparison> {
    let mut details: Vec<MetricComparison> = Vec::new();
    let mut add = |name: String, figures: Option<LogFigures>| {
        let mut metric = compare_one(&name, figures.as_ref(), sides, options, 1.0);
        metric.p_adjusted = metric.p_value;
        metric.decide(figures.as_ref(), sides, options);
        details.push(metric);
    };
    let phases = phases(sides);
    for (phase, strata) in &phases {
        let name = phase.map_or_else(|| STEP.to_owned(), |phase| format!("{STEP}.{phase}"));
        if phase.is_some() {
            let figures = log_figures(&name, sides.base.runs, sides.new.runs);
            add(name, figures);
        }
        for &stratum in strata.iter().filter(|_| strata.len() > 1 || phase.is_none()) {
            add(format!("{STEP} {stratum}"), of_stratum(stratum, sides.base.runs, sides.new.runs));
        }
    }
    details
}

/// Returns the strata of each phase.
fn phases(sides: &Sides) -> BTreeMap<Option<Phase>, BTreeSet<Stratum>> {
    let mut phases: BTreeMap<Option<Phase>, BTreeSet<Stratum>> = BTreeMap::new();
    for figures in sides.runs().flat_map(|run| &run.strata) {
        phases.entry(figures.stratum.phase).or_default().insert(figures.stratum);
    }
    phases
}

fn default_names(sides: &Sides) -> Vec<String> {
    let has = |name: &&str| {
        let on = |runs: &[Run]| log_figures(name, runs, runs).is_some();
        on(sides.base.runs) || on(sides.new.runs)
    };
    let of_steps: Vec<&str> = HEADLINES.into_iter().filter(has).collect();
    let names = match of_steps.contains(&STEP) {
        true => of_steps,
        false => of_steps.into_iter().chain(HEADLINES_OF_TRACES.into_iter().filter(has)).collect(),
    };
    names.into_iter().map(str::to_owned).collect()
}

fn is_tested(figures: &LogFigures) -> bool {
    figures.base.len() > 1 && figures.new.len() > 1
}

fn compare_one(
    name: &str,
    figures: Option<&LogFigures>,
    sides: &Sides,
    options: &CompareOptions,
    share: f64,
) -> MetricComparison {
    let full = metric::full_name(name);
    let typical = figures.and_then(LogFigures::typical);
    let design = figures.map_or(Design::Independent, |figures| design(figures, sides, options, share));
    let result: Option<TwoSided> = figures
        .filter(|figures| is_tested(figures))
        .and_then(|figures| stats::compare(&figures.base, &figures.new, &design, options.level));
    let one_side = |runs: &[Run]| log_figures(name, runs, runs).and_then(|it| it.typical()).map(|(figure, _)| figure);
    MetricComparison {
        name: name.to_owned(),
        unit: metric::unit(&full),
        base: typical.map(|(base, _)| base).or_else(|| one_side(sides.base.runs)),
        new: typical.map(|(_, new)| new).or_else(|| one_side(sides.new.runs)),
        n_runs: figures.map_or((0, 0), |figures| (figures.base.len(), figures.new.len())),
        ratio: result.map(|result| result.shift.exp()).or_else(|| typical.map(|(base, new)| new / base)),
        interval: result.map(|result| RatioInterval::of_logs(result.low, result.high)),
        p_value: result.map(|result| result.p_value),
        p_adjusted: None,
        instability: figures
            .filter(|it| it.base.len() == 1 && it.new.len() == 1)
            .and_then(|_| instability(name, sides)),
        is_paired: matches!(design, Design::Blocks(_)),
        verdict: Verdict::NotComparable,
    }
}

/// Returns the design of the test: blocks of interleaved runs, if the test within blocks can reach this share of the
/// error rate. The choice depends on numbers of runs only, so the test stays exact.
fn design(figures: &LogFigures, sides: &Sides, options: &CompareOptions, share: f64) -> Design {
    let Some(blocks) = &sides.blocks else { return Design::Independent };
    let design = Design::Blocks(renumbered(blocks, figures));
    let error_rate = (1.0 - options.level) * share;
    let smallest = stats::smallest_p(&design, figures.base.len(), figures.new.len());
    if smallest <= error_rate { design } else { Design::Independent }
}

/// Returns blocks with the indices of the runs that have the figure.
fn renumbered(blocks: &[Block], figures: &LogFigures) -> Vec<Block> {
    let places = |runs: &[usize], known: &[usize]| -> Vec<usize> {
        runs.iter().filter_map(|run| known.binary_search(run).ok()).collect()
    };
    let block = |block: &Block| Block {
        base: places(&block.base, &figures.base_runs),
        new: places(&block.new, &figures.new_runs),
    };
    blocks.iter().map(block).collect()
}

/// Returns the range of the ratio that the block bootstrap of both runs allows, for step times.
fn instability(name: &str, sides: &Sides) -> Option<RatioInterval> {
    let phase = match name.split_once('.') {
        None if name == STEP => None,
        Some((STEP, phase)) => Some(phase),
        _ => return None,
    };
    let of_run = |runs: &[Run]| {
        let run = runs.first()?;
        let wanted = run.phases.iter().filter(|it| phase.is_none_or(|phase| it.phase.as_deref() == Some(phase)));
        // Over several phases, the least stable one counts.
        wanted.filter_map(|it| it.stability).reduce(|one, two| (one.0.min(two.0), one.1.max(two.1)))
    };
    let (base, new) = of_run(sides.base.runs).zip(of_run(sides.new.runs))?;
    Some(RatioInterval { low: new.0 / base.1, high: new.1 / base.0 })
}

impl MetricComparison {
    fn decide(&mut self, figures: Option<&LogFigures>, sides: &Sides, options: &CompareOptions) {
        let is_significant = self.p_adjusted.is_some_and(|p_value| p_value <= 1.0 - options.level + 1e-12);
        self.verdict = match (figures, self.interval) {
            (None, _) => Verdict::NotComparable,
            (Some(_), _) if sides.is_refused => Verdict::NotComparable,
            (Some(_), None) => Verdict::OneRun,
            (Some(figures), Some(interval)) => {
                let needed = self.runs_needed(figures, sides, options);
                interval.verdict(self.unit, is_significant, options.margin, needed)
            }
        };
        if self.verdict == Verdict::NotComparable {
            (self.ratio, self.interval, self.instability) = (None, None, None);
            (self.p_value, self.p_adjusted) = (None, None);
        }
    }

    fn runs_needed(&self, figures: &LogFigures, sides: &Sides, options: &CompareOptions) -> Option<usize> {
        let design = design(figures, sides, options, 1.0);
        let result = stats::compare(&figures.base, &figures.new, &design, options.level)?;
        stats::runs_needed(&result, &figures.base, &figures.new, &design, options.margin.ln_1p())
    }
}
