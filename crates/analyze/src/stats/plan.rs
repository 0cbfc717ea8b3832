//! Number of runs that a comparison needs.

use super::compare::{TwoSided, is_small};
use super::design::{Block, Design, abba_blocks};
use super::normal::upper_quantile;
use super::robust::spread;

/// Runs a side above which no estimate is made: no level of interest needs as many.
const N_RUNS_MAX: usize = 1_000_000;

/// Runs a side with which every level below 1 is attainable.
const N_ATTAINABLE_MAX: usize = 64;

/// Width of an interval of a rank test relative to one of means, for normal values: the square root of π / 3.
const RANK_WIDTH: f64 = 1.023;

/// Returns the smallest p value that a comparison can have: 2 divided by the number of assignments of runs to sides.
///
/// The numbers of runs matter for independent runs, the sizes of the blocks for others.
pub fn smallest_p(design: &Design, n_base: usize, n_new: usize) -> f64 {
    let n_assignments = match design {
        Design::Independent => choices(n_base, n_new),
        Design::Blocks(blocks) => blocks.iter().map(Block::n_assignments).product(),
    };
    (2.0 / n_assignments).min(1.0)
}

/// Returns the smallest number of runs a side with which a comparison can be significant at `level`.
///
/// Runs are assumed to be interleaved in the order ABBA if the design has blocks.
pub fn attainable_runs(design: &Design, level: f64) -> Option<usize> {
    let is_enough = |n_runs: usize| is_small(smallest_p(&same_kind(design, n_runs), n_runs, n_runs), 1.0 - level);
    (1..=N_ATTAINABLE_MAX).find(|n_runs| is_enough(*n_runs))
}

/// Returns an estimate of the number of runs a side, in total, with which the interval ends within `margin` of the
/// shift.
///
/// The width of an interval falls with the square root of the number of runs. The estimate starts from the width of
/// `result`, or from the spread of the runs (with any drift) if that is infinite, and is at least the number of runs
/// with which the level is attainable. Returns `None` if a side has fewer than 2 runs, if `margin` is not positive, or
/// if the number is above a million.
pub fn runs_needed(result: &TwoSided, base: &[f64], new: &[f64], design: &Design, margin: f64) -> Option<usize> {
    let variance = (spread(base)?.powi(2) + spread(new)?.powi(2)) / 2.0;
    let half_width = (result.high - result.low) / 2.0;
    let half_width_of_one = if half_width.is_finite() {
        half_width * (harmonic_mean(base.len(), new.len())).sqrt()
    } else {
        RANK_WIDTH * upper_quantile((1.0 - result.level) / 2.0) * (2.0 * variance).sqrt()
    };
    let n_runs = (half_width_of_one / margin).powi(2).ceil();
    let attainable = attainable_runs(design, result.level)?;
    (margin > 0.0 && n_runs <= N_RUNS_MAX as f64).then_some((n_runs as usize).max(attainable))
}

impl Block {
    fn n_assignments(&self) -> f64 {
        choices(self.base.len(), self.new.len())
    }
}

/// Returns the design of `n_runs` runs a side that are made in the same way.
fn same_kind(design: &Design, n_runs: usize) -> Design {
    match design {
        Design::Independent => Design::Independent,
        Design::Blocks(_) => Design::Blocks(abba_blocks(n_runs)),
    }
}

/// Returns the number of ways to divide runs among sides of the given sizes. It is infinite above the range of floats.
fn choices(n_base: usize, n_new: usize) -> f64 {
    let (larger, smaller) = (n_base.max(n_new), n_base.min(n_new));
    let mut ways = 1.0;
    for idx in 1..=smaller {
        ways *= (larger as f64 + idx as f64) / idx as f64;
        if ways == f64::INFINITY {
            break;
        }
    }
    ways
}

fn harmonic_mean(n_base: usize, n_new: usize) -> f64 {
    let (base, new) = (n_base as f64, n_new as f64);
    2.0 * base * new / (base + new)
}

#[cfg(test)]
mod tests {
    use super::super::compare::compare;
    use super::super::random::Random;
    use super::*;

    fn assert_near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} instead of {expected}");
    }

    #[test]
    fn the_smallest_p_follows_from_the_number_of_assignments() {
        for (n_runs, expected) in [(3, 0.1), (4, 2.0 / 70.0), (5, 2.0 / 252.0), (6, 2.0 / 924.0)] {
            assert_near(smallest_p(&Design::Independent, n_runs, n_runs), expected);
        }
        let pair = |idx| Block { base: vec![idx], new: vec![idx] };
        let quad = |idx| Block { base: vec![idx, idx + 1], new: vec![idx, idx + 1] };
        assert_near(smallest_p(&Design::Blocks(vec![quad(0), quad(2), pair(4)]), 5, 5), 2.0 / 72.0);
        assert_near(smallest_p(&Design::Blocks((0..6).map(pair).collect()), 6, 6), 2.0 / 64.0);
        assert_near(smallest_p(&Design::Blocks(abba_blocks(5)), 5, 5), 2.0 / 120.0);
    }

    #[test]
    fn the_smallest_p_of_any_number_of_runs_is_a_probability() {
        assert_eq!(smallest_p(&Design::Independent, 0, 0), 1.0);
        assert_eq!(smallest_p(&Design::Independent, 1, 0), 1.0);
        assert_eq!(smallest_p(&Design::Independent, 1, 1), 1.0);
        assert_eq!(smallest_p(&Design::Independent, usize::MAX / 4, 5000), 0.0);
        assert_eq!(smallest_p(&Design::Blocks(Vec::new()), 9, 9), 1.0);
    }

    #[test]
    fn four_runs_a_side_can_be_significant() {
        assert_eq!(attainable_runs(&Design::Independent, 0.95), Some(4));
        assert_eq!(attainable_runs(&Design::Blocks(Vec::new()), 0.95), Some(4));
        assert_eq!(attainable_runs(&Design::Independent, 0.99), Some(5));
        assert_eq!(attainable_runs(&Design::Independent, 1.0 - f64::EPSILON), Some(29));
        assert_eq!(attainable_runs(&Design::Independent, 1.0), None);
    }

    /// Returns the runs needed for a margin of half a standard deviation, estimated from `n_runs` runs a side.
    fn needed(n_runs: usize, seed: u64) -> Option<usize> {
        let mut random = Random::new(seed);
        let mut side = || (0..n_runs).map(|_| random.normal()).collect::<Vec<f64>>();
        let (base, new) = (side(), side());
        let result = compare(&base, &new, &Design::Independent, 0.95)?;
        runs_needed(&result, &base, &new, &Design::Independent, 0.5)
    }

    #[test]
    fn more_runs_are_needed_than_for_a_test_of_means() {
        // A mean needs 2 * (1.96 / 0.5)² = 31 runs a side, ranks 5 % more.
        for n_runs in [3, 10, 100] {
            let mut estimates: Vec<usize> = (0..41).filter_map(|seed| needed(n_runs, seed)).collect();
            estimates.sort_unstable();
            assert!((20..=45).contains(&estimates[20]), "{n_runs}: {}", estimates[20]);
        }
    }

    #[test]
    fn the_estimate_is_at_least_the_number_that_can_be_significant() {
        let same = [1.0, 1.0, 1.0];
        let result = compare(&same, &same, &Design::Independent, 0.95).unwrap();
        assert_eq!(runs_needed(&result, &same, &same, &Design::Independent, 0.01), Some(4));
    }

    #[test]
    fn one_run_a_side_or_no_margin_gives_no_estimate() {
        assert_eq!(needed(1, 0), None);
        let (base, new) = ([1.0, 2.0], [2.0, 4.0]);
        let result = compare(&base, &new, &Design::Independent, 0.95).unwrap();
        for margin in [0.0, -1.0, f64::NAN, 1e-9] {
            assert_eq!(runs_needed(&result, &base, &new, &Design::Independent, margin), None, "{margin}");
        }
    }
}
