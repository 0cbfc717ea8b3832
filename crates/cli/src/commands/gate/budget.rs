//! Budgets: the share by which a metric may get worse.

use crate::flags::parse_share;
use crate::sides::parse_metric;
use crate::user_error::UserError;
use ferrum_trace_analyze::runs::metric::{MetricUnit, full_name};

/// Value of a flag `--budget`: `2%` or `ttft=5%`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Budget {
    /// The metric; `None` for all.
    metric: Option<String>,
    share: f64,
}

/// Budget of metrics without one of their own, if no flag sets it.
const DEFAULT: f64 = 0.02;

/// Parses a budget.
pub(super) fn parse_budget(text: &str) -> Result<Budget, String> {
    let (metric, share) = match text.split_once('=') {
        Some((name, share)) => (Some(parse_metric(name)?), share),
        None => (None, text),
    };
    Ok(Budget { metric, share: parse_share(share)? })
}

/// Returns the budget of a metric. The last of several flags counts.
pub(super) fn budget_of(budgets: &[Budget], name: &str) -> f64 {
    let named = |wanted: Option<&str>| {
        let is_wanted = |budget: &&Budget| match (&budget.metric, wanted) {
            (Some(metric), Some(wanted)) => full_name(metric) == full_name(wanted),
            (metric, wanted) => metric.is_none() && wanted.is_none(),
        };
        budgets.iter().rev().find(is_wanted).map(|budget| budget.share)
    };
    named(Some(name)).or_else(|| named(None)).unwrap_or(DEFAULT)
}

/// Checks that each budget is that of a metric that gates.
pub(super) fn check_budgets(budgets: &[Budget], metrics: &[String]) -> Result<(), UserError> {
    let is_gated = |name: &String| metrics.iter().any(|metric| full_name(metric) == full_name(name));
    match budgets.iter().filter_map(|budget| budget.metric.as_ref()).find(|name| !is_gated(name)) {
        None => Ok(()),
        Some(name) => {
            let what = format!("expected one of the metrics that gate ({}), found `{name}`", metrics.join(", "));
            Err(UserError::new("--budget", what).hint(format!("add `--metric {name}`")))
        }
    }
}

/// Returns the ratio of new to base at which the budget is used up.
pub(super) fn limit_ratio(budget: f64, unit: MetricUnit) -> f64 {
    match unit {
        MetricUnit::Nanoseconds => 1.0 + budget,
        MetricUnit::PerSecond => 1.0 - budget,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_of_a_metric_comes_before_that_of_all() {
        let budgets = ["2%", "ttft=5%", "1%"].map(|text| parse_budget(text).unwrap());
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        near(budget_of(&budgets, "step"), 0.01);
        near(budget_of(&budgets, "ttft"), 0.05);
        near(budget_of(&budgets, "ttft.p50"), 0.05);
        near(budget_of(&budgets, "ttft.p99"), 0.01);
        near(budget_of(&[], "step"), DEFAULT);
        for wrong in ["2", "ttft=", "walk=2%", "ttft=2", "=2%", "-1%"] {
            assert!(parse_budget(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_budget_for_a_metric_that_does_not_gate_is_an_error() {
        let budgets = [parse_budget("ttft=5%").unwrap()];
        assert!(check_budgets(&budgets, &["ttft.p50".to_owned()]).is_ok());
        let error = check_budgets(&budgets, &["step".to_owned()]).unwrap_err();
        assert_eq!(error.to_string(), "--budget: expected one of the metrics that gate (step), found `ttft`");
    }

    #[test]
    fn times_may_rise_and_rates_may_fall() {
        assert_eq!(limit_ratio(0.25, MetricUnit::Nanoseconds), 1.25);
        assert_eq!(limit_ratio(0.25, MetricUnit::PerSecond), 0.75);
    }
}
