//! Decides whether the metrics that gate are within their budgets.

use super::budget::{Budget, budget_of, check_budgets, limit_ratio};
use crate::sides::Side;
use crate::sides::{check_presence, default_metrics};
use crate::user_error::UserError;
use ferrum_trace_analyze::compare::{
    CompareOptions, Comparison, MetricComparison, RatioInterval, compare, log_figures,
};
use ferrum_trace_analyze::stats::{Design, Method, TwoSided, runs_needed};

/// Probability of any wrong decision, over all metrics and looks together.
pub(crate) const ERROR_RATE: f64 = 0.05;

/// Result for one metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BudgetVerdict {
    /// The whole interval is within the budget.
    Within,
    /// The interval includes the budget.
    CannotTell {
        /// Estimated number of runs per side that would be enough, if it can be estimated.
        runs_needed: Option<usize>,
    },
    /// The whole interval is beyond the budget.
    Worse,
}

impl BudgetVerdict {
    /// Returns its name, as in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Within => "within",
            Self::CannotTell { .. } => "cannot tell",
            Self::Worse => "worse",
        }
    }
}

/// A metric, its budget and the result.
#[derive(Clone, Debug)]
pub(crate) struct MetricDecision {
    /// The comparison.
    pub(crate) metric: MetricComparison,
    /// Share by which it may get worse.
    pub(crate) budget: f64,
    /// The result.
    pub(crate) verdict: BudgetVerdict,
}

/// Decision about all metrics that gate.
#[derive(Clone, Debug)]
pub(crate) struct Decision {
    /// The comparison of both sides.
    pub(crate) comparison: Comparison,
    /// The metrics, in the order of the flags.
    pub(crate) metrics: Vec<MetricDecision>,
    /// Confidence level of each interval.
    pub(crate) level: f64,
}

impl Decision {
    /// Returns true if more runs cannot change the exit code: a metric is worse, or all are within.
    pub(crate) fn is_final(&self) -> bool {
        let has = |wanted: BudgetVerdict| self.metrics.iter().any(|metric| metric.verdict == wanted);
        has(BudgetVerdict::Worse) || self.metrics.iter().all(|metric| metric.verdict == BudgetVerdict::Within)
    }
}

/// Rules of the decision.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    /// Metrics that gate; empty for the default.
    pub(crate) metrics: Vec<String>,
    /// Budgets.
    pub(crate) budgets: Vec<Budget>,
    /// Compare in spite of concerns that would refuse ratios.
    pub(crate) force: bool,
}

impl Rules {
    /// Returns the metrics that gate, if both sides have them.
    pub(crate) fn metrics(&self, base: &Side, new: &Side) -> Result<Vec<String>, UserError> {
        let metrics = match &self.metrics[..] {
            [] => default_metrics(&base.runs, &new.runs),
            names => names.to_vec(),
        };
        check_budgets(&self.budgets, &metrics)?;
        check_presence(&metrics, &base.runs, &new.runs)?;
        Ok(metrics)
    }

    /// Decides about metrics. `error_rate` is the probability of a wrong decision for each of them.
    pub(crate) fn decide(
        &self,
        base: &Side,
        new: &Side,
        metrics: &[String],
        error_rate: f64,
    ) -> Result<Decision, UserError> {
        let level = 1.0 - error_rate;
        let options =
            CompareOptions { level, metrics: metrics.to_vec(), force: self.force, ..CompareOptions::default() };
        let comparison = compare(base.as_runs(), new.as_runs(), &options);
        if comparison.is_refused() {
            return Err(refusal(&comparison));
        }
        let decide = |metric: &MetricComparison| {
            let budget = budget_of(&self.budgets, &metric.name);
            let verdict = verdict(metric, budget, || needed(metric, budget, level, base, new));
            MetricDecision { metric: metric.clone(), budget, verdict }
        };
        Ok(Decision { metrics: comparison.metrics.iter().map(decide).collect(), level, comparison })
    }
}

/// Returns the error about sides that cannot be compared.
fn refusal(comparison: &Comparison) -> UserError {
    let reasons = comparison.concerns.iter().filter(|concern| concern.is_refusal);
    let lines: String = reasons.map(|concern| format!("\n  {}", concern.text)).collect();
    UserError::new("base and new", format!("not comparable:{lines}"))
        .hint("`--force` compares them anyway; `ferrum-trace diff` shows more")
}

/// Compares the interval of a metric with its budget.
fn verdict(metric: &MetricComparison, budget: f64, runs_needed: impl FnOnce() -> Option<usize>) -> BudgetVerdict {
    let limit = limit_ratio(budget, metric.unit);
    let Some(RatioInterval { low, high }) = metric.interval else {
        return BudgetVerdict::CannotTell { runs_needed: runs_needed() };
    };
    let is_more_worse = limit > 1.0;
    match (high < limit, low > limit) {
        (true, _) if is_more_worse => BudgetVerdict::Within,
        (true, _) => BudgetVerdict::Worse,
        (_, true) if is_more_worse => BudgetVerdict::Worse,
        (_, true) => BudgetVerdict::Within,
        _ => BudgetVerdict::CannotTell { runs_needed: runs_needed() },
    }
}

/// Estimates the number of runs per side after which the interval no longer includes the budget.
fn needed(metric: &MetricComparison, budget: f64, level: f64, base: &Side, new: &Side) -> Option<usize> {
    let figures = log_figures(&metric.name, &base.runs, &new.runs)?;
    let interval = metric.interval.unwrap_or(RatioInterval { low: 0.0, high: f64::INFINITY });
    let shift = metric.ratio?.ln();
    let (low, high) = (interval.low.ln(), interval.high.ln());
    let p_value = metric.p_value.unwrap_or(1.0);
    let result = TwoSided { shift, low, high, p_value, level, method: Method::Exact };
    let design = if metric.is_paired { Design::Blocks(Vec::new()) } else { Design::Independent };
    let distance = (limit_ratio(budget, metric.unit).ln() - shift).abs();
    runs_needed(&result, &figures.base, &figures.new, &design, distance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrum_trace_analyze::compare::Verdict;
    use ferrum_trace_analyze::runs::metric::{self, MetricUnit};
    use ferrum_trace_analyze::runs::{Profile, Run, Unit};

    fn metric(name: &str, interval: Option<(f64, f64)>) -> MetricComparison {
        MetricComparison {
            name: name.to_owned(),
            unit: metric::unit(name),
            base: Some(1.0),
            new: Some(1.0),
            n_runs: (5, 5),
            ratio: Some(1.0),
            interval: interval.map(|(low, high)| RatioInterval { low, high }),
            p_value: None,
            p_adjusted: None,
            instability: None,
            is_paired: false,
            verdict: Verdict::OneRun,
        }
    }

    fn name_of(name: &str, interval: Option<(f64, f64)>) -> &'static str {
        verdict(&metric(name, interval), 0.02, || None).name()
    }

    #[test]
    fn the_whole_interval_must_be_on_one_side_of_the_budget() {
        let cases = [
            ("step", Some((0.9, 1.019)), "within"),
            ("step", Some((0.9, 1.021)), "cannot tell"),
            ("step", Some((1.019, 1.3)), "cannot tell"),
            ("step", Some((1.021, 1.3)), "worse"),
            ("step", Some((0.0, f64::INFINITY)), "cannot tell"),
            ("step", None, "cannot tell"),
            ("tokens_per_s", Some((0.981, 1.3)), "within"),
            ("tokens_per_s", Some((0.979, 1.3)), "cannot tell"),
            ("tokens_per_s", Some((0.5, 0.979)), "worse"),
        ];
        for (name, interval, expected) in cases {
            assert_eq!(name_of(name, interval), expected, "{name} {interval:?}");
        }
        assert_eq!(metric::unit("tokens_per_s"), MetricUnit::PerSecond);
    }

    /// Returns a side with one run per time to first token, in milliseconds.
    fn side(millis: &[f64]) -> Side {
        let run = |ms: &f64| Run { figures: [("ttft.p50".to_owned(), ms * 1e6)].into(), ..Run::default() };
        Side { runs: millis.iter().map(run).collect(), profile: Profile::new(Unit::Step), ..Side::default() }
    }

    fn decide(base: &Side, new: &Side) -> Decision {
        let rules = Rules { metrics: vec!["ttft".to_owned()], budgets: Vec::new(), force: false };
        let metrics = rules.metrics(base, new).unwrap();
        rules.decide(base, new, &metrics, ERROR_RATE).unwrap()
    }

    #[test]
    fn a_clear_change_is_found_and_three_runs_are_too_few() {
        let base = side(&[10.0, 10.1, 9.9, 10.05, 9.95]);
        let worse = side(&[12.0, 12.1, 11.9, 12.05, 11.95]);
        assert_eq!(decide(&base, &worse).metrics[0].verdict, BudgetVerdict::Worse);
        assert!(decide(&base, &worse).is_final());
        assert_eq!(decide(&worse, &base).metrics[0].verdict, BudgetVerdict::Within);
        let few = decide(&side(&[10.0, 10.1, 9.9]), &side(&[12.0, 12.1, 11.9]));
        assert_eq!(few.metrics[0].verdict, BudgetVerdict::CannotTell { runs_needed: Some(4) });
        assert!(!few.is_final());
    }

    #[test]
    fn one_run_is_never_enough() {
        let decision = decide(&side(&[10.0]), &side(&[90.0]));
        assert_eq!(decision.metrics[0].verdict, BudgetVerdict::CannotTell { runs_needed: None });
    }
}
