//! Figures of a baseline to print.

use crate::sides::{BaselineFile, figures};
use ferrum_trace_analyze::compare::HEADLINES;
use ferrum_trace_analyze::runs::Run;
use ferrum_trace_analyze::runs::metric::{self, BUSY, MetricUnit, SPAN};
use ferrum_trace_analyze::stats::median;
use std::path::PathBuf;

/// A baseline and its figures.
pub(crate) struct BaselineReport {
    /// Its file.
    pub(crate) path: PathBuf,
    /// Its content.
    pub(crate) baseline: BaselineFile,
    /// Headline metrics that its runs have.
    pub(crate) metrics: Vec<MetricRange>,
}

/// A metric over all runs.
pub(crate) struct MetricRange {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its unit.
    pub(crate) unit: MetricUnit,
    /// Median over runs.
    pub(crate) median: f64,
    /// Smallest figure of a run.
    pub(crate) min: f64,
    /// Largest figure of a run.
    pub(crate) max: f64,
}

impl BaselineReport {
    pub(crate) fn new(path: PathBuf, baseline: BaselineFile) -> Self {
        let names = HEADLINES.into_iter().chain([SPAN, BUSY]);
        let metrics = names.filter_map(|name| MetricRange::of(name, &baseline.runs)).collect();
        Self { path, baseline, metrics }
    }

    /// Returns the number of steps of all runs.
    pub(crate) fn n_steps(&self) -> u64 {
        self.baseline.runs.iter().map(Run::n_steps).fold(0, u64::saturating_add)
    }
}

impl MetricRange {
    fn of(name: &'static str, runs: &[Run]) -> Option<Self> {
        let values: Vec<f64> = figures(name, runs).into_iter().map(|(_, figure)| figure).collect();
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Some(Self { name, unit: metric::unit(name), median: median(&values)?, min, max })
    }
}
