//! Steps at the beginning of a run that are slower than the rest.

use super::robust::{median_of, quantile};

/// Number of steps below which no warm-up is searched.
const N_STEPS_MIN: usize = 10;

/// Number of neighboring steps whose median is the level of a run at a moment.
const WINDOW: usize = 5;

/// Distance between the median and the start of a warm-up, in distances between the median and the 95th percentile.
///
/// With 3, series with autocorrelation 0.9 and no warm-up are cut in less than 0.1 % of cases with 300 steps, and in
/// 4 % with 20.
const START_FACTOR: f64 = 3.0;

/// Addition to the factor for few steps, whose percentiles are uncertain, divided by their number.
const SMALL_SAMPLE: f64 = 30.0;

/// Smallest excess of a warm-up over the median: 1 % on a log scale.
const EXCESS_MIN: f64 = 0.01;

/// Returns the number of steps at the beginning of a run to drop, from the logarithms of the step times.
///
/// The second half of the run is the reference. A run warms up if its first step is slower than the reference ever is
/// for normal reasons, or if the median of its first 5 steps is: by 3 times the distance from the median to the 95th
/// percentile, and by 1 %. The warm-up ends where the median of 5 steps is back below the 90th percentile of such
/// medians in the reference. Both limits are percentiles of the series itself, so they account for autocorrelation.
///
/// At most half of the steps are dropped, and none of fewer than 10. Runs that become slower have no warm-up. Steps
/// whose time is not finite count as slow at the beginning and are left out of the reference.
pub fn warm_up(log_times: &[f64]) -> usize {
    let n_max = log_times.len() / 2;
    let levels = running_medians(log_times);
    let (Some(steps), Some(reference)) = (Limits::of(log_times, n_max), Limits::of(&levels, n_max)) else { return 0 };
    let is_above = |values: &[f64], limit| values.first().is_some_and(|value| *value > limit || value.is_nan());
    if log_times.len() < N_STEPS_MIN || !(is_above(log_times, steps.start) || is_above(&levels, reference.start)) {
        return 0;
    }
    let n_slow = 1 + levels.iter().skip(1).take_while(|level| **level > reference.end).count();
    if n_slow <= n_max { n_slow } else { 0 }
}

/// Limits of times in the second half of a run.
struct Limits {
    /// Limit above which a first value belongs to a warm-up.
    start: f64,
    /// Limit below which a value belongs to the rest of the run.
    end: f64,
}

impl Limits {
    /// Returns the limits from the values after the first `n_skipped`.
    fn of(values: &[f64], n_skipped: usize) -> Option<Self> {
        let mut sorted: Vec<f64> = values.iter().skip(n_skipped).copied().filter(|value| value.is_finite()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let median = median_of(&mut sorted.clone())?;
        let excess = (quantile(&sorted, 0.95)? - median).max(median - quantile(&sorted, 0.05)?);
        let factor = START_FACTOR + SMALL_SAMPLE / sorted.len() as f64;
        let start = if sorted.len() < WINDOW { f64::INFINITY } else { median + (factor * excess).max(EXCESS_MIN) };
        Some(Self { start, end: quantile(&sorted, 0.90)? })
    }
}

/// Returns the median of each step and the 4 after it.
fn running_medians(values: &[f64]) -> Vec<f64> {
    let median = |window: &[f64]| median_of(&mut window.to_vec()).unwrap_or(f64::NAN);
    values.windows(WINDOW).map(median).collect()
}

#[cfg(test)]
mod tests {
    use super::super::random::Random;
    use super::*;
    use proptest::prelude::*;

    /// Returns log times with autocorrelation 0.9 and a standard deviation of 5 %.
    fn series(random: &mut Random, n_steps: usize) -> Vec<f64> {
        let mut value = 0.05 * random.normal();
        let mut next = || {
            value = 0.9 * value + 0.05 * 0.19_f64.sqrt() * random.normal();
            value
        };
        (0..n_steps).map(|_| next()).collect()
    }

    /// Returns the middle one of the warm-ups of 100 series, to which `add` adds something.
    fn typical(add: impl Fn(&mut Vec<f64>)) -> usize {
        let mut random = Random::new(11);
        let mut dropped = Vec::new();
        for _ in 0..100 {
            let mut steps = series(&mut random, 300);
            add(&mut steps);
            dropped.push(warm_up(&steps));
        }
        dropped.sort_unstable();
        dropped[50]
    }

    #[test]
    fn stationary_runs_are_rarely_cut() {
        let mut random = Random::new(10);
        for n_steps in [20, 50, 300] {
            let n_cut = (0..300).filter(|_| warm_up(&series(&mut random, n_steps)) > 5).count();
            assert!(n_cut <= 15, "{n_cut} of 300 series of {n_steps} steps");
        }
    }

    #[test]
    fn a_decaying_warm_up_is_dropped() {
        let found = typical(|steps| {
            steps.iter_mut().take(10).enumerate().for_each(|(idx, step)| *step += (1.5 - 0.05 * idx as f64).ln());
        });
        assert!((6..=12).contains(&found), "{found}");
    }

    #[test]
    fn a_slow_first_step_is_dropped_alone() {
        assert_eq!(typical(|steps| steps[0] += 1.0), 1);
        assert_eq!(typical(|_| ()), 0);
    }

    #[test]
    fn a_trend_is_not_a_warm_up() {
        let rising: Vec<f64> = (0..300).map(|idx| f64::from(idx) / 300.0).collect();
        let falling: Vec<f64> = rising.iter().map(|value| -value).collect();
        assert_eq!(warm_up(&rising), 0);
        assert_eq!(warm_up(&falling), 0);
    }

    #[test]
    fn constant_and_short_runs_have_no_warm_up() {
        assert_eq!(warm_up(&[3.0; 100]), 0);
        assert_eq!(warm_up(&[9.0, 1.0, 1.0, 1.0]), 0);
        assert_eq!(warm_up(&[]), 0);
        let mut steps = [3.0; 100];
        steps[0] = f64::NAN;
        assert_eq!(warm_up(&steps), 1);
    }

    proptest! {
        #[test]
        fn at_most_half_of_any_run_is_dropped(steps in prop::collection::vec(any::<f64>(), 0..60)) {
            prop_assert!(warm_up(&steps) <= steps.len() / 2);
        }
    }
}
