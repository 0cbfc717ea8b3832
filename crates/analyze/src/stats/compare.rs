//! Shift between two sides, with a test and a confidence interval that agree.

use super::design::Design;
use super::rank_test::{RankTest, Tails};
use super::shifts::Shifts;

/// Difference between the figures of two sides.
///
/// On a log scale, `exp(shift)` is the ratio of the new side to the base.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoSided {
    /// Estimate of the difference, new less base.
    pub shift: f64,
    /// Lower end of the confidence interval. `-inf` if the runs are too few for the level.
    pub low: f64,
    /// Upper end of the confidence interval. `inf` if the runs are too few for the level.
    pub high: f64,
    /// Probability of a difference as large as this, in either direction, if the sides do not differ.
    pub p_value: f64,
    /// Probability with which the interval contains the true difference.
    pub level: f64,
    /// Origin of the probabilities.
    pub method: Method,
}

/// Origin of the probabilities of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// All assignments of runs to sides were counted.
    Exact,
    /// The sum of ranks was taken as normally distributed, with its exact variance.
    Normal,
}

/// Excess of a p value over the error rate that is rounding only.
const ROUNDING: f64 = 1e-9;

impl TwoSided {
    /// Reports whether the test finds a difference: the p value is at most `1 - level`, and the interval excludes zero.
    pub fn is_significant(&self) -> bool {
        is_small(self.p_value, 1.0 - self.level)
    }
}

/// Compares the runs of two sides by a test of ranks, or returns `None` if a side has no usable value.
///
/// The test asks how many of all assignments of runs to sides, within the blocks of the design, give the new side a sum
/// of ranks as extreme as the observed one. Without blocks it is the Mann-Whitney U test, with ties by midranks. The
/// shift is the one after which the sum of ranks is as expected: without blocks the Hodges-Lehmann estimate, that is,
/// the median of all pairwise differences. The interval contains the shifts that the test does not reject.
///
/// Up to 60 runs in total, all assignments are counted. Above, the sum of ranks is taken as normally distributed, with
/// its variance corrected for ties.
///
/// Values that are not finite are ignored, and so are blocks without a value on both sides, and runs in no block.
/// Returns `None` also for a level below 0.5 or not below 1.
pub fn compare(base: &[f64], new: &[f64], design: &Design, level: f64) -> Option<TwoSided> {
    if !(0.5..1.0).contains(&level) {
        return None;
    }
    let mut test = RankTest::new(base, new, design)?;
    let tails = test.tails(0.0);
    let shifts = test.shifts();
    let (low, high) = interval(&mut test, &shifts, 1.0 - level);
    let shift = estimate(&test, &shifts).max(low).min(high);
    let method = if test.is_exact() { Method::Exact } else { Method::Normal };
    Some(TwoSided { shift, low, high, p_value: tails.two_sided(), level, method })
}

/// Reports whether a probability is at most `error_rate`, but for rounding.
pub(super) fn is_small(probability: f64, error_rate: f64) -> bool {
    probability <= error_rate * (1.0 + ROUNDING)
}

impl Tails {
    fn two_sided(self) -> f64 {
        (2.0 * self.low.min(self.high)).min(1.0)
    }
}

/// Returns the ends of the interval of shifts that the test does not reject.
fn interval(test: &mut RankTest, shifts: &Shifts, error_rate: f64) -> (f64, f64) {
    let low = shifts.lower_end(|shift| is_small(2.0 * test.tails(shift).high, error_rate));
    let high = shifts.upper_end(|shift| is_small(2.0 * test.tails(shift).low, error_rate));
    // Only rounding can exchange the ends.
    (low.min(high), high.max(low))
}

/// Returns the shift after which the new side ranks as expected, or the middle of all such shifts.
fn estimate(test: &RankTest, shifts: &Shifts) -> f64 {
    let low = shifts.lower_end(|shift| test.excess(shift) > 0.0);
    let high = shifts.upper_end(|shift| test.excess(shift) < 0.0);
    low / 2.0 + high / 2.0
}

#[cfg(test)]
mod tests {
    use super::super::design::{Block, abba_blocks};
    use super::super::random::Random;
    use super::*;
    use proptest::prelude::*;

    fn independent(base: &[f64], new: &[f64], level: f64) -> TwoSided {
        compare(base, new, &Design::Independent, level).unwrap()
    }

    fn assert_near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} instead of {expected}");
    }

    /// Returns the p value from all assignments of runs to sides: twice the smaller share of those with a number of
    /// won pairs as low, or as high, as observed.
    fn enumerated_p(base: &[f64], new: &[f64]) -> f64 {
        let all: Vec<f64> = base.iter().chain(new).copied().collect();
        let wins = |chosen: u32| -> f64 {
            let side = |is_new: bool| all.iter().enumerate().filter(move |(idx, _)| (chosen >> idx & 1 == 1) == is_new);
            side(true).flat_map(|new| side(false).map(move |base| 1.0 + new.1.total_cmp(base.1) as i8 as f64)).sum()
        };
        let observed = wins(((1 << new.len()) - 1) << base.len());
        let others: Vec<f64> =
            (0..1_u32 << all.len()).filter(|it| it.count_ones() as usize == new.len()).map(wins).collect();
        let share = |n: usize| n as f64 / others.len() as f64;
        let low = share(others.iter().filter(|it| **it <= observed).count());
        let high = share(others.iter().filter(|it| **it >= observed).count());
        (2.0 * low.min(high)).min(1.0)
    }

    #[test]
    fn separate_sides_have_the_smallest_p() {
        for (n_runs, expected) in [(3, 0.1), (4, 2.0 / 70.0), (5, 2.0 / 252.0), (6, 2.0 / 924.0)] {
            let base: Vec<f64> = (0..n_runs).map(f64::from).collect();
            let new: Vec<f64> = base.iter().map(|value| value + 100.0).collect();
            let found = independent(&base, &new, 0.95);
            assert_near(found.p_value, expected);
            assert_near(found.shift, 100.0);
            assert_eq!(found.low > 0.0 && found.high.is_finite(), n_runs > 3);
            assert_eq!(found.low.is_infinite() && found.high.is_infinite(), n_runs == 3);
        }
    }

    #[test]
    fn the_interval_has_order_statistics_of_differences_as_ends() {
        // At 95 %, the tables of the U test for 5 and 5 runs drop the 2 smallest and 2 largest of 25 differences.
        let base = [0.0, 1.0, 2.0, 3.0, 4.0];
        let new = [0.13, 1.17, 2.31, 3.71, 4.97];
        let found = independent(&base, &new, 0.95);
        let mut differences: Vec<f64> = new.iter().flat_map(|new| base.map(|base| new - base)).collect();
        differences.sort_by(f64::total_cmp);
        assert_near(found.low, differences[2]);
        assert_near(found.high, differences[22]);
        assert_near(found.shift, differences[12]);
        assert_eq!(found.method, Method::Exact);
    }

    #[test]
    fn an_even_number_of_differences_has_the_mean_of_the_middle_two_as_shift() {
        assert_near(independent(&[0.0], &[1.0, 4.0], 0.95).shift, 2.5);
        assert_near(independent(&[0.0, 10.0], &[1.0, 4.0], 0.95).shift, -2.5);
    }

    #[test]
    fn interleaved_runs_are_compared_within_their_blocks() {
        // The level falls by far more than the sides differ.
        let base: Vec<f64> = (0..6).map(|idx| -10.0 * f64::from(idx)).collect();
        let new: Vec<f64> = base.iter().enumerate().map(|(idx, value)| value + 1.0 + 0.1 * idx as f64).collect();
        let pair = |idx| Block { base: vec![idx], new: vec![idx] };
        let pairs = Design::Blocks((0..6).map(pair).collect());
        let found = compare(&base, &new, &pairs, 0.95).unwrap();
        assert_near(found.p_value, 2.0 / 64.0);
        assert_near(found.shift, 1.25);
        assert_near(found.low, 1.0);
        assert_near(found.high, 1.5);
        assert!(independent(&base, &new, 0.95).p_value > 0.5);
    }

    #[test]
    fn five_runs_in_blocks_of_two_two_and_one_have_72_assignments() {
        let quad = |idx| Block { base: vec![idx, idx + 1], new: vec![idx, idx + 1] };
        let blocks = Design::Blocks(vec![quad(0), quad(2), Block { base: vec![4], new: vec![4] }]);
        let base = [1.0, 1.1, 7.0, 7.2, 3.0];
        let new = base.map(|value| value + 2.0);
        assert_near(compare(&base, &new, &blocks, 0.95).unwrap().p_value, 2.0 / 72.0);
    }

    #[test]
    fn many_runs_are_compared_by_a_normal_distribution() {
        let mut random = Random::new(5);
        let mut side = |n_runs| (0..n_runs).map(|_| random.normal()).collect::<Vec<f64>>();
        let (base, new) = (side(1000), side(1000));
        let found = independent(&base, &new, 0.95);
        assert_eq!(found.method, Method::Normal);
        // A mean of 1,000 has a standard deviation of 0.032.
        assert!(found.low > -0.15 && found.high < 0.15 && found.high - found.low > 0.15, "{found:?}");
        assert!(found.p_value > 0.001, "{found:?}");
        let blocks = Design::Blocks(abba_blocks(1000));
        let found = compare(&base, &new, &blocks, 0.95).unwrap();
        assert!(found.low > -0.15 && found.high < 0.15 && found.high - found.low > 0.15, "{found:?}");
    }

    #[test]
    fn unusable_values_are_ignored() {
        let clean = independent(&[1.0, 2.0], &[3.0, 4.0], 0.5);
        assert_eq!(independent(&[1.0, f64::NAN, 2.0, 1e200], &[f64::INFINITY, 3.0, 4.0], 0.5), clean);
        let unpaired = Block { base: vec![0, 7], new: vec![0] };
        let blocks = Design::Blocks(vec![unpaired, Block { base: vec![1], new: vec![1] }, Block::default()]);
        assert_eq!(compare(&[1.0, 2.0], &[f64::NAN, 4.0], &blocks, 0.95).unwrap().shift, 2.0);
        for (base, new) in [(&[][..], &[][..]), (&[1.0], &[]), (&[f64::NAN], &[1.0])] {
            assert_eq!(compare(base, new, &Design::Independent, 0.95), None);
            assert_eq!(compare(base, new, &Design::Blocks(abba_blocks(1)), 0.95), None);
        }
        for level in [0.0, 0.4, 1.0, -3.0, f64::NAN] {
            assert_eq!(compare(&[1.0], &[2.0], &Design::Independent, level), None);
        }
    }

    #[test]
    fn equal_constants_do_not_differ() {
        let found = independent(&[7.0; 10], &[7.0; 10], 0.95);
        assert_eq!(found.p_value, 1.0);
        assert!(found.shift.abs() < 1e-9 && found.low.abs() < 1e-9 && found.high.abs() < 1e-9, "{found:?}");
    }

    /// Values in steps of 1/8, so that there are ties and sums are not rounded.
    fn side() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec((-20..20_i8).prop_map(|value| f64::from(value) / 8.0), 1..8)
    }

    /// Two sides, and a design of them.
    fn sides() -> impl Strategy<Value = (Vec<f64>, Vec<f64>, Design)> {
        let designs = prop::bool::ANY.prop_map(|has_blocks| match has_blocks {
            true => Design::Blocks(abba_blocks(8)),
            false => Design::Independent,
        });
        (side(), side(), designs)
    }

    proptest! {
        #[test]
        fn the_p_value_is_that_of_all_assignments(base in side(), new in side()) {
            prop_assert!((independent(&base, &new, 0.95).p_value - enumerated_p(&base, &new)).abs() < 1e-9);
        }

        #[test]
        fn interval_and_test_agree((base, new, design) in sides(), level in 0.5..0.99_f64) {
            let found = compare(&base, &new, &design, level).unwrap();
            prop_assert!(found.low <= found.shift && found.shift <= found.high, "{:?}", found);
            let excludes_zero = found.low > 0.0 || found.high < 0.0;
            prop_assert_eq!(excludes_zero, found.is_significant(), "{:?}", found);
        }

        #[test]
        fn swapping_the_sides_mirrors_the_result((base, new, design) in sides()) {
            let found = compare(&base, &new, &design, 0.8).unwrap();
            let Some(swapped) = compare(&new, &base, &design, 0.8) else { return Ok(()) };
            let is_near = |left: f64, right: f64| left == right || (left - right).abs() < 1e-9;
            prop_assert!(is_near(found.p_value, swapped.p_value), "{:?} {:?}", found, swapped);
            prop_assert!(is_near(found.low, -swapped.high) && is_near(found.high, -swapped.low));
            prop_assert!(is_near(found.shift, -swapped.shift), "{:?} {:?}", found, swapped);
        }

        #[test]
        fn a_constant_on_both_sides_changes_nothing((base, new, design) in sides(), constant in -64..64_i8) {
            let moved = |side: &[f64]| side.iter().map(|value| value + f64::from(constant)).collect::<Vec<f64>>();
            let found = compare(&base, &new, &design, 0.8).unwrap();
            let moved = compare(&moved(&base), &moved(&new), &design, 0.8).unwrap();
            let is_near = |left: f64, right: f64| left == right || (left - right).abs() < 1e-9;
            prop_assert!(is_near(found.p_value, moved.p_value), "{:?} {:?}", found, moved);
            prop_assert!(is_near(found.shift, moved.shift), "{:?} {:?}", found, moved);
            prop_assert!(is_near(found.low, moved.low) && is_near(found.high, moved.high), "{:?} {:?}", found, moved);
        }

        #[test]
        fn any_floats_give_a_result_without_nan(base in floats(), new in floats(), level in 0.5..0.999_f64) {
            for design in [Design::Independent, Design::Blocks(abba_blocks(5))] {
                if let Some(found) = compare(&base, &new, &design, level) {
                    prop_assert!(found.shift.is_finite() && found.low <= found.high, "{:?}", found);
                    prop_assert!((0.0..=1.0).contains(&found.p_value), "{:?}", found);
                }
            }
        }
    }

    fn floats() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(any::<f64>(), 0..10)
    }
}
