//! Stability of a figure within one run.

use super::normal::{student_quantile, upper_quantile};
use super::random::Random;
use super::robust::{finite, mad, mean, median_of, quantile};

/// Range of a figure that was estimated from the steps of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Figure of all values.
    pub estimate: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Number of neighboring values that were resampled together.
    pub n_in_block: usize,
}

/// Figure of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// The mean of the values.
    Mean,
    /// The median of the values.
    Median,
}

/// Number of resamples.
const N_RESAMPLES: usize = 400;

/// Number of values of a resample at most. The width of the interval is corrected if the run has more.
const N_VALUES_MAX: usize = 4096;

/// Number of values below which there is no interval.
const N_VALUES_MIN: usize = 20;

/// Number of blocks in a sample at least. With fewer, resamples hardly differ.
const N_BLOCKS_MIN: usize = 5;

/// Distance from the median, in median absolute deviations, to which values are moved before they are correlated.
const OUTLIER: f64 = 4.0;

const SEED: u64 = 0x0F57_5EED;

/// Returns the interval in which a figure of a run lies, as far as the run itself shows, or `None` for fewer than 20
/// finite values, or a level that is not between 0 and 1.
///
/// It is a circular block bootstrap: resamples are made of blocks of neighboring values, so that they keep the
/// autocorrelation. The length of a block is the one with the smallest error for a series with the autocorrelation of
/// these values at lag 1, at most a fifth of the values. Percentiles of 400 resamples are widened by the ratio of a t
/// to a normal quantile, because few blocks show less than the whole variation.
///
/// For a series with autocorrelation 0.9, an interval at 95 % contains the true figure in 90 % of cases with 300
/// values, in 87 % with 100, and in fewer with less.
///
/// Of more than 4,096 values, a resample has 4,096, and the interval is narrowed by the square root of the ratio. The
/// same values always give the same interval. It tells nothing about other runs: it does not contain the variation
/// between runs.
pub fn block_bootstrap(values: &[f64], level: f64, statistic: Statistic) -> Option<Interval> {
    let values = finite(values);
    if values.len() < N_VALUES_MIN || !(level > 0.0 && level < 1.0) {
        return None;
    }
    let estimate = statistic.of(&mut values.clone())?;
    let n_values = values.len().min(N_VALUES_MAX);
    let n_in_block = block_length(&values).clamp(1, n_values / N_BLOCKS_MIN);
    let mut deviations = resampled(&values, n_values, n_in_block, statistic);
    deviations.iter_mut().for_each(|figure| *figure -= estimate);
    deviations.sort_unstable_by(f64::total_cmp);
    let error_rate = 1.0 - level;
    let width =
        widening(error_rate, n_values as f64 / n_in_block as f64) * (n_values as f64 / values.len() as f64).sqrt();
    let end = |share| quantile(&deviations, share).map(|deviation| estimate + width * deviation);
    Some(Interval { estimate, low: end(error_rate / 2.0)?, high: end(1.0 - error_rate / 2.0)?, n_in_block })
}

impl Statistic {
    /// Returns the figure of a sample, and reorders it.
    fn of(self, values: &mut [f64]) -> Option<f64> {
        match self {
            Self::Mean => mean(values),
            Self::Median => median_of(values),
        }
    }
}

/// Returns the figures of all resamples.
fn resampled(values: &[f64], n_values: usize, n_in_block: usize, statistic: Statistic) -> Vec<f64> {
    let mut random = Random::new(SEED);
    let mut sample = Vec::with_capacity(n_values + n_in_block);
    let mut figure = || {
        sample.clear();
        while sample.len() < n_values {
            let (before, after) = values.split_at(random.below(values.len()));
            sample.extend(after.iter().chain(before).take(n_in_block));
        }
        sample.truncate(n_values);
        statistic.of(&mut sample)
    };
    (0..N_RESAMPLES).filter_map(|_| figure()).collect()
}

/// Returns the length of a block with the smallest error, for a series in which only neighbors are correlated directly.
fn block_length(values: &[f64]) -> usize {
    let n = values.len() as f64;
    // The estimate from few values is too small.
    let correlation = (lag_1_correlation(values) + 4.0 / n).clamp(0.0, 0.99);
    let persistence = 2.0 * correlation / (1.0 - correlation * correlation);
    (1.5 * n * persistence * persistence).cbrt().ceil() as usize
}

/// Returns the correlation of neighboring values, of which outliers are moved towards the median.
fn lag_1_correlation(values: &[f64]) -> f64 {
    let center = median_of(&mut values.to_vec()).unwrap_or(0.0);
    let limit = OUTLIER * mad(values).unwrap_or(0.0);
    let moved: Vec<f64> = values.iter().map(|value| (value - center).clamp(-limit, limit)).collect();
    let squares: f64 = moved.iter().map(|value| value * value).sum();
    let products: f64 = moved.iter().zip(moved.iter().skip(1)).map(|(left, right)| left * right).sum();
    if squares > 0.0 { products / squares } else { 0.0 }
}

/// Returns the factor by which percentiles of resamples of so many blocks are too narrow.
fn widening(error_rate: f64, n_blocks: f64) -> f64 {
    let z = upper_quantile(error_rate / 2.0);
    let n_free = (n_blocks - 1.0).max(1.0);
    student_quantile(z, n_free) / z * (n_blocks / n_free).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn series(random: &mut Random, n: usize, correlation: f64) -> Vec<f64> {
        let mut value = random.normal();
        let mut next = || {
            value = correlation * value + (1.0 - correlation * correlation).sqrt() * random.normal();
            value
        };
        (0..n).map(|_| next()).collect()
    }

    /// Returns the share of 100 intervals at 95 % that contain the true figure.
    fn coverage(n: usize, correlation: f64, statistic: Statistic) -> f64 {
        let mut random = Random::new(31);
        let mut is_covered = || {
            let interval = block_bootstrap(&series(&mut random, n, correlation), 0.95, statistic).unwrap();
            interval.low <= 0.0 && interval.high >= 0.0
        };
        (0..100).filter(|_| is_covered()).count() as f64 / 100.0
    }

    #[test]
    fn intervals_of_correlated_steps_contain_the_true_figure() {
        for statistic in [Statistic::Mean, Statistic::Median] {
            let (correlated, independent) = (coverage(300, 0.9, statistic), coverage(50, 0.0, statistic));
            assert!(correlated >= 0.85 && independent >= 0.9, "{statistic:?}: {correlated} {independent}");
        }
    }

    #[test]
    fn blocks_grow_with_the_correlation() {
        let mut random = Random::new(32);
        let lengths = [0.0, 0.5, 0.9].map(|correlation| block_length(&series(&mut random, 1000, correlation)));
        assert!(lengths[0] <= 5 && lengths[0] < lengths[1] && lengths[1] < lengths[2], "{lengths:?}");
        assert!((20..100).contains(&lengths[2]), "{lengths:?}");
    }

    #[test]
    fn an_interval_of_many_steps_is_narrow() {
        let steps = series(&mut Random::new(33), 100_000, 0.9);
        let interval = block_bootstrap(&steps, 0.95, Statistic::Median).unwrap();
        // 100,000 steps are worth 5,263 independent ones, whose median has a standard deviation of 0.017.
        assert!((0.04..0.12).contains(&(interval.high - interval.low)), "{interval:?}");
        assert_eq!(block_bootstrap(&steps, 0.95, Statistic::Median).unwrap(), interval);
    }

    #[test]
    fn few_steps_have_no_interval() {
        assert_eq!(block_bootstrap(&[1.0; 19], 0.95, Statistic::Mean), None);
        assert_eq!(block_bootstrap(&[f64::NAN; 50], 0.95, Statistic::Mean), None);
        assert_eq!(block_bootstrap(&[1.0; 50], 1.0, Statistic::Mean), None);
        let constant = block_bootstrap(&[1.0; 20], 0.95, Statistic::Mean).unwrap();
        assert_eq!((constant.low, constant.estimate, constant.high), (1.0, 1.0, 1.0));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20))]

        #[test]
        fn any_steps_have_an_interval_or_none(steps in prop::collection::vec(-1e9..1e9_f64, 0..60)) {
            for statistic in [Statistic::Mean, Statistic::Median] {
                let interval = block_bootstrap(&steps, 0.9, statistic);
                prop_assert_eq!(interval.is_some(), steps.len() >= N_VALUES_MIN);
                prop_assert!(interval.is_none_or(|it| it.low <= it.high));
            }
        }
    }
}
