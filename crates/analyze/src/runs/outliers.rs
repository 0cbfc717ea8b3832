//! Steps that take far longer than the others of their run and stratum.

use crate::stats::{mad, median};

/// Median absolute deviations above the median from which a step is an outlier: five standard deviations of a normal
/// distribution.
const DEVIATIONS: f64 = 7.5;
/// Smallest excess over the median of an outlier, as a share of the median.
const EXCESS_MIN: f64 = 0.05;
/// Largest share of outliers. A larger group of slow steps is a mode, not a set of outliers.
const SHARE_MAX: f64 = 0.1;
/// Smallest number of steps in which outliers can be told.
const STEPS_MIN: usize = 5;

/// Returns the longest duration that is no outlier.
pub(super) fn limit(durations: &[f64]) -> f64 {
    if durations.len() < STEPS_MIN {
        return f64::INFINITY;
    }
    let Some(middle) = median(durations) else { return f64::INFINITY };
    let limit = middle + (DEVIATIONS * mad(durations).unwrap_or(0.0)).max(EXCESS_MIN * middle);
    let n_above = durations.iter().filter(|&&duration| duration > limit).count();
    if n_above as f64 > SHARE_MAX * durations.len() as f64 { f64::INFINITY } else { limit }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_far_longer_steps_are_outliers() {
        let mut durations: Vec<f64> = (0..100).map(|n| 1000.0 + f64::from(n % 10)).collect();
        assert!(durations.iter().all(|&duration| duration <= limit(&durations)));
        durations[3] = 5000.0;
        let found = limit(&durations);
        assert!((1010.0..5000.0).contains(&found), "{found}");
        durations[..15].fill(5000.0);
        assert_eq!(limit(&durations), f64::INFINITY, "15 % are a mode");
        assert_eq!(limit(&[1.0, 1.0, 99.0]), f64::INFINITY, "too few");
    }
}
