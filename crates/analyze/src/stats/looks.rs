//! Early stopping that preserves the error rate.

use super::design::{Design, abba_blocks};
use super::normal::{upper_quantile, upper_tail};
use super::plan::attainable_runs;

/// Order in which a series of runs is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The runs of one side after those of the other, or runs whose order is unknown.
    Separate,
    /// Base, new, new, base, and so on.
    Abba,
}

/// A moment in a series of runs at which a decision may be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Number of runs a side that have been made.
    pub n_runs: usize,
    /// Probability of a false alarm at this look. Intervals have the level `1 - error_rate`.
    pub error_rate: f64,
}

/// Shares of the planned runs at which there is a look before the last. More would leave too little for that.
const EARLY_SHARES: [f64; 2] = [0.6, 0.8];

impl Order {
    /// Returns the design of `n_runs` runs a side in this order.
    pub fn design(self, n_runs: usize) -> Design {
        match self {
            Self::Separate => Design::Independent,
            Self::Abba => Design::Blocks(abba_blocks(n_runs)),
        }
    }
}

/// Returns the looks at a series of at most `n_runs` runs a side, such that all of them together raise a false alarm
/// with probability `error_rate` at most.
///
/// The error rates of the looks sum to `error_rate`, and the test at each look is exact, so a false alarm at the look
/// happens with at most its own rate. By the union bound, the probability of an alarm at any of them is at most the
/// sum, whatever the dependence between the looks. For the same reason, all intervals of the looks together contain the
/// true shift with probability `1 - error_rate`, so that stopping because a side is within its budget is safe too.
///
/// Early looks get little, after O'Brien and Fleming, so that the last one has most of the rate left. Looks are at 60,
/// 80 and 100 % of the runs, where the exact test can reach the rate: for 10 runs at 6, 8 and 10. The last is always
/// there, also if it cannot.
pub fn looks(n_runs: usize, error_rate: f64, order: Order) -> Vec<Look> {
    let mut looks = Vec::new();
    let mut spent = 0.0;
    for n_now in moments(n_runs) {
        let spent_now = spending(n_now as f64 / n_runs as f64, error_rate);
        let look = Look { n_runs: n_now, error_rate: spent_now - spent };
        if n_now == n_runs || look.is_useful(order) {
            spent = spent_now;
            looks.push(look);
        }
    }
    looks
}

impl Look {
    /// Reports whether the exact test can reach the error rate.
    fn is_useful(&self, order: Order) -> bool {
        attainable_runs(&order.design(0), 1.0 - self.error_rate).is_some_and(|n_runs| n_runs <= self.n_runs)
    }
}

/// Returns the numbers of runs at which there may be a look: whole blocks of ABBA, and the end.
fn moments(n_runs: usize) -> Vec<usize> {
    let early = EARLY_SHARES.map(|share| (share * n_runs as f64 / 2.0).round() as usize * 2);
    let mut moments: Vec<usize> = early.into_iter().filter(|n_now| (1..n_runs).contains(n_now)).collect();
    moments.extend(Some(n_runs).filter(|n_runs| *n_runs > 0));
    moments.dedup();
    moments
}

/// Returns the part of the error rate that is spent after a share of the runs.
fn spending(share: f64, error_rate: f64) -> f64 {
    if share >= 1.0 { error_rate } else { 2.0 * upper_tail(upper_quantile(error_rate / 2.0) / share.sqrt()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n_runs(looks: &[Look]) -> Vec<usize> {
        looks.iter().map(|look| look.n_runs).collect()
    }

    #[test]
    fn looks_are_where_the_test_can_reach_the_error_rate() {
        for order in [Order::Separate, Order::Abba] {
            assert_eq!(n_runs(&looks(10, 0.05, order)), [6, 8, 10]);
            assert_eq!(n_runs(&looks(20, 0.05, order)), [12, 16, 20]);
            assert_eq!(n_runs(&looks(5, 0.05, order)), [5]);
            assert_eq!(n_runs(&looks(3, 0.05, order)), [3]);
            assert_eq!(n_runs(&looks(1, 0.05, order)), [1]);
            assert_eq!(n_runs(&looks(0, 0.05, order)), [0; 0]);
        }
        assert_eq!(n_runs(&looks(10, 0.01, Order::Abba)), [8, 10]);
        assert_eq!(looks(usize::MAX, 0.05, Order::Abba).len(), 3);
    }

    #[test]
    fn the_error_rates_sum_to_the_whole() {
        for n_planned in 1..60 {
            for order in [Order::Separate, Order::Abba] {
                let looks = looks(n_planned, 0.05, order);
                let sum: f64 = looks.iter().map(|look| look.error_rate).sum();
                assert!((sum - 0.05).abs() < 1e-12, "{n_planned}: {sum}");
                assert!(looks.iter().all(|look| look.error_rate > 0.0), "{looks:?}");
            }
        }
    }
}
