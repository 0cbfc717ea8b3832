//! Compares the runs of two sides: which metrics changed, whether by chance, and which parts of the steps caused it.
//!
//! The run is the statistical unit: each run counts with one figure per metric. [`stats`](crate::stats) has the tests.

mod attribution;
mod comparability;
mod figures;
mod flame;
mod metrics;
mod mix;
mod modes;
mod names;
mod sides;
mod verdict;

pub use attribution::{Attribution, Cause, attribute};
pub use comparability::Concern;
pub use figures::{LogFigures, log_figures};
pub use flame::{FlameDiff, FlameNode};
pub use metrics::{HEADLINES, MetricComparison};
pub use modes::TwoModes;
pub use names::{NameChanges, OneSidedName, Renamed};
pub use sides::{CompareOptions, SideRuns};
pub use verdict::{RatioInterval, Verdict};

use crate::runs::Run;
use sides::Sides;

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

/// Compares two sides.
pub fn compare(base: SideRuns, new: SideRuns, options: &CompareOptions) -> Comparison {
    let mut sides = Sides::new(base, new);
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
