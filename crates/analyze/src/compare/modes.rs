//! Figures with two modes: a machine or an engine that is sometimes in another state.

use super::figures::log_figures;
use super::sides::Sides;
use crate::runs::Run;
use crate::runs::metric::STEP;
use crate::stats::{self, Modes};

/// A set of step times with two modes.
#[derive(Clone, Debug, PartialEq)]
pub struct TwoModes {
    /// True for the base side.
    pub is_base: bool,
    /// The run whose steps have two modes; `None` if the runs of the side have.
    pub run: Option<String>,
    /// Phase of the steps, if known.
    pub phase: Option<String>,
    /// Ratio of the upper mode to the lower one.
    pub ratio: f64,
    /// Share of the steps or runs in the upper mode.
    pub share_high: f64,
}

/// Finds two modes among the runs of a side, and within runs.
pub(super) fn two_modes(sides: &Sides) -> Vec<TwoModes> {
    let mut found = Vec::new();
    for (is_base, runs) in [(true, sides.base.runs), (false, sides.new.runs)] {
        let figures = log_figures(STEP, runs, runs).map(|figures| figures.base).unwrap_or_default();
        if let Some(Modes { low, high, share_high, .. }) = stats::two_modes(&figures) {
            found.push(TwoModes { is_base, run: None, phase: None, ratio: (high - low).exp(), share_high });
        }
        found.extend(runs.iter().flat_map(|run| within(is_base, run)));
    }
    found
}

fn within(is_base: bool, run: &Run) -> impl Iterator<Item = TwoModes> {
    run.phases.iter().filter_map(move |phase| {
        let (low, high, share_high) = phase.modes?;
        let run = run.names.first().cloned();
        Some(TwoModes { is_base, run, phase: phase.phase.clone(), ratio: high / low, share_high })
    })
}
