//! Counts of the results of comparisons.

use super::results::{DiffResult, GateResult, Verdict};
use crate::rounds::Rounds;

/// The metric that decides whether a planted slowdown was found.
const STEP: &str = "step";

/// The results of several comparisons of one kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub n_comparisons: usize,
    /// Comparisons with at least one metric that is faster or slower.
    pub n_with_alarm: usize,
    /// Comparisons whose steps are slower.
    pub n_found: usize,
    /// Number of these whose first cause is the slowed operation.
    pub n_first_cause: usize,
    /// By metric, in the order of the report.
    pub metrics: Vec<(String, MetricTally)>,
    /// Decisions of the gate.
    pub n_pass: usize,
    pub n_fail: usize,
    pub n_cannot_tell: usize,
    /// Ratios of step times.
    ratios: Vec<f64>,
}

/// The verdicts about one metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MetricTally {
    pub n_faster: usize,
    pub n_slower: usize,
    pub n_same: usize,
    pub n_cannot_tell: usize,
}

impl Tally {
    /// Counts a comparison, in which `slowed` was slowed down.
    pub(super) fn count(&mut self, diff: &DiffResult, gate: GateResult, slowed: Option<&str>) {
        self.n_comparisons += 1;
        let is_alarm = |verdict| matches!(verdict, Verdict::Faster | Verdict::Slower);
        self.n_with_alarm += usize::from(diff.metrics.iter().any(|metric| is_alarm(metric.verdict)));
        for metric in &diff.metrics {
            self.metric(&metric.name).count(metric.verdict);
        }
        if let Some(step) = diff.metrics.iter().find(|metric| metric.name == STEP) {
            self.ratios.extend(step.ratio);
            let is_found = step.verdict == Verdict::Slower;
            let first = diff.causes.first().map(|cause| cause.name.as_str());
            self.n_found += usize::from(is_found);
            self.n_first_cause += usize::from(is_found && slowed.is_some() && first == slowed);
        }
        match gate {
            GateResult::Pass => self.n_pass += 1,
            GateResult::Fail => self.n_fail += 1,
            GateResult::CannotTell => self.n_cannot_tell += 1,
        }
    }

    /// Adds the comparisons of another tally.
    pub(super) fn append(&mut self, other: &Self) {
        for (name, tally) in &other.metrics {
            self.metric(name).append(tally);
        }
        self.n_comparisons += other.n_comparisons;
        self.n_with_alarm += other.n_with_alarm;
        self.n_found += other.n_found;
        self.n_first_cause += other.n_first_cause;
        self.n_pass += other.n_pass;
        self.n_fail += other.n_fail;
        self.n_cannot_tell += other.n_cannot_tell;
        self.ratios.extend(&other.ratios);
    }

    /// The median of the ratios of step times, new to base.
    pub(super) fn ratio(&self) -> Option<f64> {
        self.ratios.iter().copied().collect::<Rounds>().median()
    }

    fn metric(&mut self, name: &str) -> &mut MetricTally {
        let place = self.metrics.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
            self.metrics.push((name.to_owned(), MetricTally::default()));
            self.metrics.len() - 1
        });
        &mut self.metrics[place].1
    }
}

impl MetricTally {
    /// Verdicts that the sides differ.
    pub(super) fn n_alarms(&self) -> usize {
        self.n_faster + self.n_slower
    }

    fn count(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Faster => self.n_faster += 1,
            Verdict::Slower => self.n_slower += 1,
            Verdict::Same => self.n_same += 1,
            Verdict::CannotTell => self.n_cannot_tell += 1,
        }
    }

    fn append(&mut self, other: &Self) {
        self.n_faster += other.n_faster;
        self.n_slower += other.n_slower;
        self.n_same += other.n_same;
        self.n_cannot_tell += other.n_cannot_tell;
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::results::{Cause, Metric};
    use super::*;

    /// A comparison with these verdicts about `step` and `ttft`.
    pub(in super::super) fn diff(step: Verdict, ttft: Verdict, first_cause: &str) -> DiffResult {
        let metric = |name: &str, ratio, verdict| Metric { name: name.to_owned(), ratio, verdict };
        DiffResult {
            metrics: vec![metric("step", Some(1.04), step), metric("ttft", None, ttft)],
            causes: vec![Cause { name: first_cause.to_owned() }, Cause { name: "rope".to_owned() }],
        }
    }

    #[test]
    fn an_alarm_is_counted_by_metric_and_once_by_comparison() {
        let mut tally = Tally::default();
        tally.count(&diff(Verdict::Faster, Verdict::Slower, "x"), GateResult::Fail, None);
        tally.count(&diff(Verdict::Same, Verdict::Slower, "x"), GateResult::Pass, None);
        tally.count(&diff(Verdict::CannotTell, Verdict::Same, "x"), GateResult::CannotTell, None);
        assert_eq!((tally.n_comparisons, tally.n_with_alarm), (3, 2));
        let alarms: Vec<(&str, usize)> =
            tally.metrics.iter().map(|(name, it)| (name.as_str(), it.n_alarms())).collect();
        assert_eq!(alarms, [("step", 1), ("ttft", 2)]);
        assert_eq!((tally.n_pass, tally.n_fail, tally.n_cannot_tell), (1, 1, 1));
    }

    #[test]
    fn a_slowdown_is_found_if_steps_are_slower_and_explained_if_its_operation_is_the_first_cause() {
        let mut tally = Tally::default();
        tally.count(&diff(Verdict::Slower, Verdict::Same, "lm_head"), GateResult::Fail, Some("lm_head"));
        tally.count(&diff(Verdict::Slower, Verdict::Same, "attention"), GateResult::Fail, Some("lm_head"));
        tally.count(&diff(Verdict::CannotTell, Verdict::Slower, "lm_head"), GateResult::Fail, Some("lm_head"));
        assert_eq!((tally.n_found, tally.n_first_cause), (2, 1));
        assert_eq!(tally.ratio(), Some(1.04));
    }

    #[test]
    fn the_sum_of_two_tallies_counts_the_comparisons_of_both() {
        let (mut a, mut b) = (Tally::default(), Tally::default());
        a.count(&diff(Verdict::Slower, Verdict::Same, "x"), GateResult::Fail, Some("x"));
        b.count(&diff(Verdict::Same, Verdict::Faster, "x"), GateResult::Pass, Some("x"));
        a.append(&b);
        let sum = a;
        assert_eq!((sum.n_comparisons, sum.n_with_alarm, sum.n_found, sum.n_first_cause), (2, 2, 1, 1));
        assert_eq!((sum.n_fail, sum.n_pass, sum.ratios.len()), (1, 1, 2));
        let step = MetricTally { n_slower: 1, n_same: 1, ..MetricTally::default() };
        assert_eq!(sum.metrics[0], ("step".to_owned(), step));
    }
}
