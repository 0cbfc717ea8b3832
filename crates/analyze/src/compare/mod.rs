//! Compares the runs of two sides: which metrics changed, whether by chance, and which parts of the steps caused it.
//!
//! The run is the statistical unit: each run counts with one figure per metric. [`stats`](crate::stats) has the tests.

mod attribution;
mod comparability;
mod figures;
mod metrics;
mod modes;
mod names;
mod verdict;

pub use attribution::{Attribution, Cause, attribute};
pub use comparability::Concern;
pub use figures::{LogFigures, log_figures};
pub use metrics::{HEADLINES, MetricComparison};
pub use modes::TwoModes;
pub use names::{NameChanges, OneSidedName, Renamed};
pub use verdict::{RatioInterval, Verdict};

use crate::runs::{Profile, Run};
use crate::stats::{self, Block, Side};

/// Runs of one side.
#[derive(Clone, Copy, Debug)]
pub struct SideRuns<'a> {
    /// The runs.
    pub runs: &'a [Run],
    /// The time of the steps of all runs.
    pub profile: &'a Profile,
}

/// Options of [`compare`].
#[derive(Clone, Debug)]
pub struct CompareOptions {
    /// Confidence level of intervals and tests.
    pub level: f64,
    /// Share within which sides count as the same.
    pub margin: f64,
    /// Metrics to compare; empty for the headline metrics.
    pub metrics: Vec<String>,
    /// Compare in spite of concerns that would refuse ratios.
    pub force: bool,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self { level: 0.95, margin: 0.02, metrics: Vec::new(), force: false }
    }
}

/// Comparison of two sides.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Number of base and new runs.
    pub n_runs: (usize, usize),
    /// True if runs of both sides were interleaved in time.
    pub is_interleaved: bool,
    /// Reasons for care, refusals first.
    pub concerns: Vec<Concern>,
    /// Headline metrics.
    pub metrics: Vec<MetricComparison>,
    /// Step times by phase and stratum.
    pub details: Vec<MetricComparison>,
    /// Number of warm-up steps of base and new runs, which are in no figure.
    pub warm_up_steps: (u64, u64),
    /// Sides and runs whose figures have two modes.
    pub modes: Vec<TwoModes>,
    /// The parts of the change; `None` if the sides have no stratum in common.
    pub attribution: Option<Attribution>,
    /// Names that changed.
    pub names: NameChanges,
}

impl Comparison {
    /// Returns true if ratios were refused.
    pub fn is_refused(&self) -> bool {
        self.metrics.iter().all(|metric| metric.verdict == Verdict::NotComparable)
    }

    /// Returns true if a headline metric differs beyond chance.
    pub fn has_difference(&self) -> bool {
        self.metrics.iter().any(|metric| metric.verdict.is_difference())
    }
}

/// Both sides, with facts that all metrics share.
struct Sides<'a> {
    base: SideRuns<'a>,
    new: SideRuns<'a>,
    /// Blocks of neighboring runs, if the runs were interleaved.
    blocks: Option<Vec<Block>>,
    /// True if ratios would be meaningless.
    is_refused: bool,
}

impl<'a> Sides<'a> {
    fn runs(&self) -> impl Iterator<Item = &'a Run> {
        self.base.runs.iter().chain(self.new.runs)
    }
}

/// Compares two sides.
pub fn compare(base: SideRuns, new: SideRuns, options: &CompareOptions) -> Comparison {
    let mut sides = Sides { base, new, blocks: interleaving(base.runs, new.runs), is_refused: false };
    let mut concerns = comparability::concerns(&sides);
    sides.is_refused = !options.force && concerns.iter().any(|concern| concern.is_refusal);
    let attribution = if sides.is_refused { None } else { attribute(base.profile, new.profile) };
    concerns.extend(attribution.as_ref().and_then(comparability::batch_mix));
    let sum_of = |runs: &[Run]| runs.iter().map(|run| run.warm_up_steps).fold(0, u64::saturating_add);
    Comparison {
        n_runs: (base.runs.len(), new.runs.len()),
        is_interleaved: sides.blocks.is_some(),
        metrics: metrics::headlines(&sides, options),
        details: metrics::details(&sides, options),
        warm_up_steps: (sum_of(base.runs), sum_of(new.runs)),
        modes: modes::two_modes(&sides),
        names: attribution
            .as_ref()
            .map(|attribution| names::name_changes(base.profile, new.profile, attribution))
            .unwrap_or_default(),
        concerns,
        attribution,
    }
}

/// Returns the blocks of neighboring runs, if every run states its start and the sides were interleaved.
fn interleaving(base: &[Run], new: &[Run]) -> Option<Vec<Block>> {
    let starts = |runs: &[Run], side: Side| -> Option<Vec<(i64, Side, usize)>> {
        runs.iter().enumerate().map(|(place, run)| Some((run.start_unix_ns?, side, place))).collect()
    };
    let mut order = starts(base, Side::Base)?;
    order.extend(starts(new, Side::New)?);
    order.sort_by_key(|&(start, _, place)| (start, place));
    let sides: Vec<Side> = order.iter().map(|&(_, side, _)| side).collect();
    let of = |wanted: Side| -> Vec<usize> {
        order.iter().filter(|(_, side, _)| *side == wanted).map(|&(.., place)| place).collect()
    };
    let (base, new) = (of(Side::Base), of(Side::New));
    let real = |places: &[usize], order: &[usize]| places.iter().filter_map(|&n| order.get(n).copied()).collect();
    let blocks = stats::blocks_of(&sides)?;
    Some(blocks.iter().map(|block| Block { base: real(&block.base, &base), new: real(&block.new, &new) }).collect())
}
