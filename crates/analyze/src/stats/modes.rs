//! Samples with two separate clusters of values.

use super::robust::{finite, mean, median_of, standard_deviation};

/// Two clusters of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modes {
    /// Median of the lower cluster.
    pub low: f64,
    /// Median of the upper cluster.
    pub high: f64,
    /// Share of the values that are in the upper cluster.
    pub share_high: f64,
}

/// Number of values below which no modes are searched.
const N_MIN: usize = 6;

/// Smallest share of the values in a cluster. Fewer are outliers.
const SHARE_MIN: f64 = 0.15;

/// Smallest distance between the modes: 2 % on a log scale.
const DISTANCE_MIN: f64 = 0.02;

/// Smallest distance between the means of the clusters, in standard deviations of the wider one.
///
/// The two halves of a normal distribution are 2.6 standard deviations apart, those of a uniform one 3.5.
const SEPARATION_MIN: f64 = 3.5;

/// Addition to the separation for few values, which are far apart by chance, divided by their number.
const SMALL_SAMPLE: f64 = 30.0;

/// Largest share of the values in the middle 40 % between the means of the clusters.
const VALLEY_SHARE_MAX: f64 = 0.1;

/// Returns the modes of a sample that clearly has two, or `None`.
///
/// The sorted values are cut where the squared distances from the mean of each part are smallest. The parts are modes
/// if each has at least 2 values and 15 % of them, if their medians differ by at least 2 % on a log scale, if their
/// means are at least 3.5 + 30 / n standard deviations of the wider one apart, and if at most 10 % of the values are in
/// the middle between them. These limits were chosen by simulation: about 2 % at most of the samples from a normal
/// distribution, a t distribution with 3 degrees of freedom, or a series with autocorrelation 0.9 have modes, and up to
/// 4 % of those from a strongly skewed log-normal distribution.
///
/// It applies to figures of at least 6 runs, and to the step times of one run. Values that are not finite are ignored.
pub fn two_modes(values: &[f64]) -> Option<Modes> {
    let mut sorted = finite(values);
    sorted.sort_unstable_by(f64::total_cmp);
    let n_low = best_cut(&sorted)?;
    let (low, high) = sorted.split_at_checked(n_low)?;
    are_modes(low, high).then_some(())?;
    let share_high = high.len() as f64 / sorted.len() as f64;
    let modes = Modes { low: median_of(&mut low.to_vec())?, high: median_of(&mut high.to_vec())?, share_high };
    (modes.high - modes.low >= DISTANCE_MIN).then_some(modes)
}

/// Returns the number of values below the cut with the smallest squared distances from the means of both parts.
fn best_cut(sorted: &[f64]) -> Option<usize> {
    let center = mean(sorted)?;
    let n = sorted.len() as f64;
    let mut sum = 0.0;
    // The total of squares is fixed. So the squares within are smallest where those between the parts are largest.
    let between = sorted.iter().enumerate().map(|(idx, value)| {
        sum += value - center;
        let n_low = (idx + 1) as f64;
        (idx + 1, sum * sum / (n_low * (n - n_low)))
    });
    let cuts = between.take(sorted.len() - 1);
    cuts.max_by(|left, right| left.1.total_cmp(&right.1)).map(|(n_low, _)| n_low)
}

/// Reports whether two parts of the sorted values are large enough and far enough apart.
fn are_modes(low: &[f64], high: &[f64]) -> bool {
    let n = low.len() + high.len();
    let n_min = ((SHARE_MIN * n as f64).ceil() as usize).max(2);
    let (Some(sd_low), Some(sd_high)) = (standard_deviation(low), standard_deviation(high)) else { return false };
    let (Some(low_mean), Some(high_mean)) = (mean(low), mean(high)) else { return false };
    let distance = high_mean - low_mean;
    let valley = (low_mean + 0.3 * distance)..(low_mean + 0.7 * distance);
    let n_in_valley = low.iter().chain(high).filter(|value| valley.contains(value)).count();
    n >= N_MIN
        && low.len().min(high.len()) >= n_min
        && distance > (SEPARATION_MIN + SMALL_SAMPLE / n as f64) * sd_low.max(sd_high)
        && n_in_valley as f64 <= VALLEY_SHARE_MAX * n as f64
}

#[cfg(test)]
mod tests {
    use super::super::random::Random;
    use super::*;
    use proptest::prelude::*;

    /// Returns the share of 500 samples of `n` values that have two modes.
    fn share_with_modes(n: usize, mut value: impl FnMut(&mut Random) -> f64) -> f64 {
        let mut random = Random::new(21);
        let mut has_modes = || {
            let sample: Vec<f64> = (0..n).map(|_| value(&mut random)).collect();
            two_modes(&sample).is_some()
        };
        (0..500).filter(|_| has_modes()).count() as f64 / 500.0
    }

    #[test]
    fn samples_with_one_mode_rarely_seem_to_have_two() {
        for n in [6, 8, 10, 20, 50, 300] {
            let normal = share_with_modes(n, |random| random.normal());
            let skewed = share_with_modes(n, |random| (0.5 * random.normal()).exp());
            let heavy = share_with_modes(n, |random| {
                let squares: f64 = (0..3).map(|_| random.normal().powi(2)).sum();
                random.normal() / (squares / 3.0).sqrt()
            });
            let mut level = 0.0;
            let series = share_with_modes(n, |random| {
                level = 0.9 * level + random.normal();
                level
            });
            assert!(normal.max(skewed).max(heavy).max(series) <= 0.03, "{n}: {normal} {skewed} {heavy} {series}");
            assert!(normal + skewed + heavy + series <= 0.06, "{n}: {normal} {skewed} {heavy} {series}");
        }
    }

    #[test]
    fn separate_modes_are_found() {
        let found = |n| share_with_modes(n, |random| random.normal() + if random.unit() < 0.3 { 12.0 } else { 0.0 });
        assert!(found(20) > 0.9, "{}", found(20));
        assert!(found(300) > 0.99, "{}", found(300));
    }

    #[test]
    fn modes_have_medians_and_a_share() {
        let modes = two_modes(&[1.0, 1.01, 1.02, 1.03, 2.0, 2.02]).unwrap();
        assert!((modes.low - 1.015).abs() < 1e-9 && (modes.high - 2.01).abs() < 1e-9, "{modes:?}");
        assert!((modes.share_high - 1.0 / 3.0).abs() < 1e-9, "{modes:?}");
    }

    #[test]
    fn modes_that_are_close_or_small_do_not_count() {
        assert_eq!(two_modes(&[1.0, 1.0, 1.0, 1.019, 1.019, 1.019]), None);
        assert!(two_modes(&[1.0, 1.0, 1.0, 1.03, 1.03, 1.03]).is_some());
        assert_eq!(two_modes(&[1.0, 1.0, 1.0, 1.0, 1.0, 2.0]), None);
        assert_eq!(two_modes(&[1.0, 1.0, 2.0, 2.0, f64::NAN]), None);
        assert_eq!(two_modes(&[1.0; 10]), None);
        assert_eq!(two_modes(&[]), None);
    }

    proptest! {
        #[test]
        fn any_floats_have_ordered_modes_or_none(values in prop::collection::vec(any::<f64>(), 0..40)) {
            if let Some(modes) = two_modes(&values) {
                prop_assert!(modes.low < modes.high && modes.share_high > 0.0 && modes.share_high < 1.0);
            }
        }
    }
}
