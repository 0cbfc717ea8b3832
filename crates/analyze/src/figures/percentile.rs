//! Percentiles by nearest rank.

/// Percentiles of values. All zero if there are no values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    /// The smallest value.
    pub min: i64,
    /// The median.
    pub p50: i64,
    /// The 95th percentile.
    pub p95: i64,
    /// The 99th percentile.
    pub p99: i64,
    /// The largest value.
    pub max: i64,
}

impl Distribution {
    /// Returns the distribution of `values`, and reorders them.
    ///
    /// A percentile is the value at rank `ceil(percent / 100 * n)` of the n sorted values, so it always occurs among
    /// them.
    pub fn of(values: &mut [i64]) -> Self {
        let n = values.len();
        let [Some(p50), Some(p95), Some(p99)] = [50, 95, 99].map(|percent| rank(n, percent)) else {
            return Self::default();
        };
        // Each percentile is searched only below the larger one before it.
        let (below_p99, &mut at_p99, above) = values.select_nth_unstable(p99);
        let max = above.iter().copied().max().unwrap_or(at_p99);
        let (below_p95, at_p95) = select(below_p99, at_p99, p95);
        let (below_p50, at_p50) = select(below_p95, at_p95, p50);
        let min = below_p50.iter().copied().min().unwrap_or(at_p50);
        Self { min, p50: at_p50, p95: at_p95, p99: at_p99, max }
    }
}

/// Returns the value at `place` among the values in `below` followed by `other`, and the values below it.
fn select(below: &mut [i64], other: i64, place: usize) -> (&mut [i64], i64) {
    if place >= below.len() {
        return (below, other);
    }
    let (below, &mut value, _) = below.select_nth_unstable(place);
    (below, value)
}

/// Returns the index of a percentile among `n` sorted values.
fn rank(n: usize, percent: u32) -> Option<usize> {
    let place = (n as u128 * u128::from(percent)).div_ceil(100).saturating_sub(1) as usize;
    (place < n).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn percentiles_are_among_the_values() {
        let mut hundred: Vec<i64> = (1..=100).rev().collect();
        let expected = Distribution { min: 1, p50: 50, p95: 95, p99: 99, max: 100 };
        assert_eq!(Distribution::of(&mut hundred), expected);
        let expected = Distribution { min: 1, p50: 2, p95: 3, p99: 3, max: 3 };
        assert_eq!(Distribution::of(&mut [3, 1, 2]), expected);
        let expected = Distribution { min: 7, p50: 7, p95: 7, p99: 7, max: 7 };
        assert_eq!(Distribution::of(&mut [7]), expected);
        assert_eq!(Distribution::of(&mut []), Distribution::default());
        assert_eq!(rank(0, 50), None);
        assert_eq!(rank(2, 0), Some(0));
        assert_eq!(rank(2, 101), None);
    }

    proptest! {
        #[test]
        fn a_percentile_is_found_at_its_rank_among_the_sorted(mut values in prop::collection::vec(-50_i64..50, 1..300)) {
            let found = Distribution::of(&mut values);
            values.sort_unstable();
            let at = |percent: f64| values[((percent / 100.0 * values.len() as f64).ceil() as usize).max(1) - 1];
            let last = values[values.len() - 1];
            let expected = Distribution { min: values[0], p50: at(50.0), p95: at(95.0), p99: at(99.0), max: last };
            prop_assert_eq!(found, expected);
        }
    }
}
