//! Figures of the runs of both sides for one metric, on a logarithmic scale.

use crate::runs::metric::{self, DEVICE_BUSY, STEP};
use crate::runs::{Run, Stratum, StratumFigures};
use crate::stats;
use std::collections::BTreeMap;

/// Figures of one metric: the natural logarithm for each run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogFigures {
    /// Figures of the base runs.
    pub base: Vec<f64>,
    /// Indices of these runs; runs without the figure are left out.
    pub base_runs: Vec<usize>,
    /// Figures of the new runs.
    pub new: Vec<f64>,
    /// Indices of these runs.
    pub new_runs: Vec<usize>,
}

impl LogFigures {
    /// Returns the typical figure of each side: the median over its runs.
    pub fn typical(&self) -> Option<(f64, f64)> {
        Some((stats::median(&self.base)?.exp(), stats::median(&self.new)?.exp()))
    }

    fn of(base: Vec<(usize, f64)>, new: Vec<(usize, f64)>) -> Option<Self> {
        if base.is_empty() || new.is_empty() {
            return None;
        }
        let (base_runs, base) = base.into_iter().unzip();
        let (new_runs, new) = new.into_iter().unzip();
        Some(Self { base, base_runs, new, new_runs })
    }
}

/// Returns the figures of a metric; `None` if a side has none.
pub fn log_figures(name: &str, base: &[Run], new: &[Run]) -> Option<LogFigures> {
    let full = metric::full_name(name);
    match stratified(&full) {
        Some((value, is_wanted)) => {
            let common = CommonMix::of(base, new, value, is_wanted)?;
            LogFigures::of(common.figures(base), common.figures(new))
        }
        None => LogFigures::of(plain(&full, base), plain(&full, new)),
    }
}

/// Returns the figures of one stratum.
pub(super) fn of_stratum(stratum: Stratum, base: &[Run], new: &[Run]) -> Option<LogFigures> {
    let figures = |runs: &[Run]| {
        let of_run = |run: &Run| run.strata.iter().find(|it| it.stratum == stratum).map(|it| it.undisturbed_ns);
        logs(runs.iter().map(of_run))
    };
    LogFigures::of(figures(base), figures(new))
}

type Value = fn(&StratumFigures) -> Option<f64>;

/// Returns the value and the strata of a metric that is computed at a common mix: `step`, `step.decode`, `device_busy`.
fn stratified(name: &str) -> Option<(Value, impl Fn(&Stratum) -> bool + use<>)> {
    let (head, phase) = name.split_once('.').map_or((name, None), |(head, phase)| (head, Some(phase.to_owned())));
    let value: Value = match head {
        STEP => |figures| Some(figures.undisturbed_ns),
        DEVICE_BUSY => |figures| figures.device_busy_ns,
        _ => return None,
    };
    if phase.as_ref().is_some_and(|phase| phase.contains('.') || metric::STATISTICS.contains(&phase.as_str())) {
        return None;
    }
    let is_wanted = move |stratum: &Stratum| {
        phase.as_ref().is_none_or(|phase| stratum.phase.is_some_and(|it| it.as_str() == phase))
    };
    Some((value, is_wanted))
}

fn plain(name: &str, runs: &[Run]) -> Vec<(usize, f64)> {
    logs(runs.iter().map(|run| run.figures.get(name).copied()))
}

/// Returns the index and the logarithm of each positive figure.
fn logs(figures: impl Iterator<Item = Option<f64>>) -> Vec<(usize, f64)> {
    let log = |figure: Option<f64>| figure.filter(|figure| *figure > 0.0 && figure.is_finite()).map(f64::ln);
    figures.enumerate().filter_map(|(place, figure)| Some((place, log(figure)?))).collect()
}

/// Strata that both sides have, with weights that both sides share.
///
/// The figure of a run is the weighted mean of the logarithms of its step times, each relative to the mean of that
/// stratum over all runs. So a run that has other batches than another one is not faster or slower for that reason
/// alone.
struct CommonMix {
    value: Value,
    strata: BTreeMap<Stratum, Reference>,
    /// The weighted mean of all strata.
    level: f64,
}

/// Mean and weight of a stratum.
struct Reference {
    mean: f64,
    weight: f64,
}

impl CommonMix {
    fn of(base: &[Run], new: &[Run], value: Value, is_wanted: impl Fn(&Stratum) -> bool) -> Option<Self> {
        let sides = [base, new].map(|runs| sums(runs, value, &is_wanted));
        let mut strata = BTreeMap::new();
        for (&stratum, one) in &sides[0] {
            let Some(two) = sides[1].get(&stratum) else { continue };
            // The share of the time of each side, so that the side with more runs does not count more.
            let [share_one, share_two] = [(one, &sides[0]), (two, &sides[1])].map(|(sum, side)| sum.share(side));
            let mean = (one.log / one.n_runs + two.log / two.n_runs) / 2.0;
            strata.insert(stratum, Reference { mean, weight: share_one + share_two });
        }
        let weight: f64 = strata.values().map(|it| it.weight).sum();
        let level = strata.values().map(|it| it.weight * it.mean).sum::<f64>() / weight;
        (weight > 0.0).then_some(Self { value, strata, level })
    }

    fn figures(&self, runs: &[Run]) -> Vec<(usize, f64)> {
        runs.iter().enumerate().filter_map(|(place, run)| Some((place, self.figure(run)?))).collect()
    }

    fn figure(&self, run: &Run) -> Option<f64> {
        let (mut sum, mut weight) = (0.0, 0.0);
        for figures in &run.strata {
            let Some(reference) = self.strata.get(&figures.stratum) else { continue };
            let Some(value) = (self.value)(figures).filter(|&value| value > 0.0) else { continue };
            sum += reference.weight * (value.ln() - reference.mean);
            weight += reference.weight;
        }
        (weight > 0.0).then(|| self.level + sum / weight)
    }
}

/// Sums of one stratum over the runs of a side.
#[derive(Default)]
struct Sum {
    log: f64,
    n_runs: f64,
    time: f64,
}

impl Sum {
    fn share(&self, side: &BTreeMap<Stratum, Self>) -> f64 {
        self.time / side.values().map(|sum| sum.time).sum::<f64>().max(f64::MIN_POSITIVE)
    }
}

fn sums(runs: &[Run], value: Value, is_wanted: &impl Fn(&Stratum) -> bool) -> BTreeMap<Stratum, Sum> {
    let mut sums: BTreeMap<Stratum, Sum> = BTreeMap::new();
    for figures in runs.iter().flat_map(|run| &run.strata).filter(|it| is_wanted(&it.stratum)) {
        let Some(value) = value(figures).filter(|&value| value > 0.0) else { continue };
        let sum = sums.entry(figures.stratum).or_default();
        sum.log += value.ln();
        sum.n_runs += 1.0;
        sum.time += figures.total_ns as f64;
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::BatchRange;
    use ferrum_trace_model::vocab::Phase;

    fn run(strata: &[(u64, u64, f64)]) -> Run {
        let figures = |&(batch, count, undisturbed_ns): &(u64, u64, f64)| StratumFigures {
            stratum: Stratum {
                phase: Some(Phase::Decode),
                batch: Some(BatchRange { from: batch, to: batch }),
                prompt: None,
            },
            count,
            total_ns: (count as f64 * undisturbed_ns) as i64,
            undisturbed_ns,
            device_busy_ns: None,
        };
        Run { strata: strata.iter().map(figures).collect(), ..Run::default() }
    }

    #[test]
    fn another_batch_mix_alone_is_no_difference() {
        let base = [run(&[(1, 90, 100.0), (8, 10, 400.0)]), run(&[(1, 90, 100.0), (8, 10, 400.0)])];
        let new = [run(&[(1, 10, 100.0), (8, 90, 400.0)]), run(&[(8, 90, 400.0), (16, 5, 900.0)])];
        let figures = log_figures("step.decode", &base, &new).unwrap();
        for (one, two) in figures.base.iter().zip(&figures.new) {
            assert!((one - two).abs() < 1e-12, "{figures:?}");
        }
    }

    #[test]
    fn a_slower_stratum_counts_by_its_share_of_the_time() {
        let base = [run(&[(1, 50, 100.0), (8, 50, 300.0)])];
        let new = [run(&[(1, 50, 110.0), (8, 50, 300.0)])];
        let figures = log_figures("step", &base, &new).unwrap();
        let change = figures.new[0] - figures.base[0];
        assert!((0.2 * 1.1_f64.ln()..0.3 * 1.1_f64.ln()).contains(&change), "{change}");
    }

    #[test]
    fn sides_without_a_common_stratum_have_no_figure() {
        assert_eq!(log_figures("step", &[run(&[(1, 5, 100.0)])], &[run(&[(2, 5, 100.0)])]), None);
        assert_eq!(log_figures("step.prefill", &[run(&[(1, 5, 100.0)])], &[run(&[(1, 5, 100.0)])]), None);
    }

    #[test]
    fn runs_without_a_figure_are_left_out() {
        let with = |value: f64| Run { figures: BTreeMap::from([("ttft.p50".to_owned(), value)]), ..Run::default() };
        let figures = log_figures("ttft", &[with(1.0), Run::default(), with(0.0)], &[with(2.0)]).unwrap();
        assert_eq!((figures.base_runs, figures.new_runs), (vec![0], vec![0]));
    }
}
