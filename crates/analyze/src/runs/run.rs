//! Figures of one run.

use super::facts::RunFacts;
use super::stratum::Stratum;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Figures of one run of an engine. Times are nanoseconds.
///
/// The run is the unit of every comparison: steps of one run depend on each other. A run has one trace, or one for each
/// rank and part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its traces.
    pub names: Vec<String>,
    /// Its ranks, if its traces state them.
    pub ranks: Vec<u32>,
    /// Its start in nanoseconds since 1970, if a trace states it.
    pub start_unix_ns: Option<i64>,
    /// Facts that decide whether it can be compared.
    pub facts: RunFacts,
    /// Number of steps of its warm-up, which are in no figure.
    pub warm_up_steps: u64,
    /// Figures of the steps, by stratum.
    pub strata: Vec<StratumFigures>,
    /// Stability and modes of the step times, by phase.
    pub phases: Vec<PhaseFigures>,
    /// Other figures by name, such as `ttft.p50`. See [`metric`](super::metric).
    pub figures: BTreeMap<String, f64>,
}

/// Figures of the steps of one stratum in one run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StratumFigures {
    /// The stratum.
    pub stratum: Stratum,
    /// Number of steps.
    pub count: u64,
    /// Sum of their durations.
    pub total_ns: i64,
    /// Time of an undisturbed step: the 10th percentile of their durations. Other programs only make steps longer, so
    /// the lower end varies less from run to run than the median.
    pub undisturbed_ns: f64,
    /// Median of the time in which a device works for them; `None` if none does.
    pub device_busy_ns: Option<f64>,
}

/// Distribution of the step times of one phase within a run. Step times are divided by the median of their stratum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseFigures {
    /// The phase, as text; `None` if it is unknown.
    pub phase: Option<String>,
    /// Interval for the median by a block bootstrap, as ratios: how stable the run is internally. `None` if there are
    /// too few steps, or if it was not asked for.
    pub stability: Option<(f64, f64)>,
    /// The two modes, as ratios, and the share of the steps in the upper one, if the step times have two.
    pub modes: Option<(f64, f64, f64)>,
}

impl Run {
    /// Returns the number of steps in its figures.
    pub fn n_steps(&self) -> u64 {
        self.strata.iter().fold(0, |sum, stratum| sum.saturating_add(stratum.count))
    }

    /// Adds the figures of another trace of the same run: another rank, or another part.
    pub fn join(&mut self, other: Self) {
        self.names.extend(other.names);
        self.ranks.extend(other.ranks);
        self.ranks.sort_unstable();
        self.ranks.dedup();
        self.start_unix_ns = self.start_unix_ns.into_iter().chain(other.start_unix_ns).min();
        self.warm_up_steps = self.warm_up_steps.saturating_add(other.warm_up_steps);
        for stratum in other.strata {
            match self.strata.iter_mut().find(|known| known.stratum == stratum.stratum) {
                Some(known) => known.join(&stratum),
                None => self.strata.push(stratum),
            }
        }
        self.strata.sort_by_key(|stratum| stratum.stratum);
        join_figures(&mut self.figures, &self.facts, other.figures, &other.facts);
        self.phases.retain(|phase| other.phases.iter().any(|it| it.phase == phase.phase));
        self.facts.join(other.facts);
    }
}

impl StratumFigures {
    /// Adds the steps of another trace. Percentiles become the mean of those of the traces, by number of steps.
    fn join(&mut self, other: &Self) {
        let (own, others) = (self.count as f64, other.count as f64);
        let mean = |one: f64, two: f64| (one * own + two * others) / (own + others).max(1.0);
        self.undisturbed_ns = mean(self.undisturbed_ns, other.undisturbed_ns);
        self.device_busy_ns = self.device_busy_ns.zip(other.device_busy_ns).map(|(one, two)| mean(one, two));
        self.count = self.count.saturating_add(other.count);
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
    }
}

/// Averages figures over the traces of a run. A figure that only some traces have is averaged over these.
fn join_figures(
    figures: &mut BTreeMap<String, f64>,
    facts: &RunFacts,
    others: BTreeMap<String, f64>,
    other_facts: &RunFacts,
) {
    let [own, other] = [facts, other_facts].map(|facts| facts.n_traces.max(1) as f64);
    for (name, value) in others {
        let known = figures.entry(name).or_insert(value);
        *known = (*known * own + value * other) / (own + other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(rank: u32, undisturbed_ns: f64, ttft: f64) -> Run {
        let stratum = Stratum::default();
        Run {
            names: vec![format!("rank{rank}.json")],
            ranks: vec![rank],
            facts: RunFacts { n_traces: 1, ..RunFacts::default() },
            strata: vec![StratumFigures { stratum, count: 10, total_ns: 1000, undisturbed_ns, device_busy_ns: None }],
            figures: BTreeMap::from([("ttft.p50".to_owned(), ttft)]),
            ..Run::default()
        }
    }

    #[test]
    fn ranks_of_a_run_are_averaged() {
        let mut run = rank(1, 100.0, 1.0);
        run.join(rank(0, 200.0, 2.0));
        run.join(rank(2, 300.0, 6.0));
        assert_eq!((run.ranks.clone(), run.n_steps(), run.strata.len()), (vec![0, 1, 2], 30, 1));
        assert!((run.strata[0].undisturbed_ns - 200.0).abs() < 1e-9);
        assert!((run.figures["ttft.p50"] - 3.0).abs() < 1e-9);
    }
}
