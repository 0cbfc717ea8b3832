//! The result of the gate.

use super::decision::{BudgetVerdict, Decision};
use super::inputs::Inputs;
use super::limit::LimitResult;
use super::series::{SeriesEnd, SeriesSummary};
use crate::exit_status::ExitStatus;

/// Result of the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GateVerdict {
    /// All metrics are within their budgets, and all limits are met.
    Pass,
    /// A metric is worse than its budget, or a limit is violated.
    Fail,
    /// Some metric is uncertain; the others are within their budgets.
    CannotTell,
}

impl GateVerdict {
    /// Returns its name, as in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::CannotTell => "cannot tell",
        }
    }
}

/// Everything that the gate prints.
pub(crate) struct GateReport {
    pub(crate) inputs: Inputs,
    /// The runs of commands, if there were any.
    pub(crate) series: Option<SeriesSummary>,
    /// Decision about the metrics; `None` without a base side, or if it was interrupted too early.
    pub(crate) decision: Option<Decision>,
    /// Results of the limits.
    pub(crate) limits: Vec<LimitResult>,
    /// True if uncertainty is a failure.
    pub(crate) is_strict: bool,
}

impl GateReport {
    /// Returns the result; `None` if there is nothing to decide about.
    pub(crate) fn verdict(&self) -> Option<GateVerdict> {
        let metrics = self.decision.iter().flat_map(|decision| &decision.metrics);
        let mut verdicts: Vec<BudgetVerdict> = metrics.map(|metric| metric.verdict).collect();
        let of_limit = |limit: &LimitResult| if limit.is_met { BudgetVerdict::Within } else { BudgetVerdict::Worse };
        verdicts.extend(self.limits.iter().map(of_limit));
        let has_unknown = verdicts.iter().any(|verdict| matches!(verdict, BudgetVerdict::CannotTell { .. }));
        if verdicts.is_empty() {
            None
        } else if verdicts.contains(&BudgetVerdict::Worse) || (has_unknown && self.is_strict) {
            Some(GateVerdict::Fail)
        } else if has_unknown {
            Some(GateVerdict::CannotTell)
        } else {
            Some(GateVerdict::Pass)
        }
    }

    /// Returns true if a signal ended the runs.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.series.is_some_and(|series| series.end == SeriesEnd::Interrupted)
    }

    /// Returns the exit status.
    pub(crate) fn status(&self) -> ExitStatus {
        match self.verdict() {
            _ if self.is_interrupted() => ExitStatus::Interrupted,
            Some(GateVerdict::Pass) | None => ExitStatus::Success,
            Some(GateVerdict::Fail) => ExitStatus::Finding,
            Some(GateVerdict::CannotTell) => ExitStatus::Unknown,
        }
    }
}
