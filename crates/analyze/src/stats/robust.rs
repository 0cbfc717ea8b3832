//! Medians and spreads that a few outliers do not move.

/// Factor between the median absolute deviation and the standard deviation of a normal distribution.
const NORMAL_SD_PER_MAD: f64 = 1.4826;

/// Number of values from which the median absolute deviation is steadier than the standard deviation.
const N_MIN_FOR_MAD: usize = 6;

/// Returns the median, without values that are not finite. The mean of the middle two if their number is even.
pub fn median(values: &[f64]) -> Option<f64> {
    median_of(&mut finite(values))
}

/// Returns the median absolute deviation from the median, without values that are not finite.
pub fn mad(values: &[f64]) -> Option<f64> {
    let center = median(values)?;
    let mut deviations: Vec<f64> = finite(values).iter().map(|value| (value - center).abs()).collect();
    median_of(&mut deviations)
}

/// Returns an estimate of the standard deviation, or `None` for fewer than 2 finite values.
///
/// It is the scaled median absolute deviation. The standard deviation replaces it for fewer than 6 values, and where
/// more than half of the values are equal.
pub fn spread(values: &[f64]) -> Option<f64> {
    let values = finite(values);
    let sd = standard_deviation(&values)?;
    let scaled = mad(&values)? * NORMAL_SD_PER_MAD;
    Some(if values.len() < N_MIN_FOR_MAD || scaled == 0.0 { sd } else { scaled })
}

/// Returns the finite values.
pub(super) fn finite(values: &[f64]) -> Vec<f64> {
    values.iter().copied().filter(|value| value.is_finite()).collect()
}

/// Returns the median, and reorders the values.
pub(super) fn median_of(values: &mut [f64]) -> Option<f64> {
    let (n, middle) = (values.len(), values.len() / 2);
    if n == 0 {
        return None;
    }
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let lower = below.iter().copied().max_by(f64::total_cmp).filter(|_| n.is_multiple_of(2));
    Some(lower.map_or(upper, |lower| lower / 2.0 + upper / 2.0))
}

/// Returns the mean, or `None` without values.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the standard deviation, or `None` for fewer than 2 values.
pub(super) fn standard_deviation(values: &[f64]) -> Option<f64> {
    let center = mean(values)?;
    let n_free = values.len().checked_sub(1).filter(|n| *n > 0)?;
    let squares: f64 = values.iter().map(|value| (value - center).powi(2)).sum();
    Some((squares / n_free as f64).sqrt())
}

/// Returns the value below which a share of the sorted values lies, by nearest rank.
pub fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_value_or_the_mean_of_the_middle_two() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[f64::NAN, 7.0, f64::INFINITY]), Some(7.0));
        assert_eq!(median(&[f64::MAX, f64::MAX]), Some(f64::MAX));
        assert_eq!(median(&[f64::NAN]), None);
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn one_outlier_does_not_move_the_spread() {
        assert_eq!(mad(&[1.0, 2.0, 3.0, 4.0, 1000.0]), Some(1.0));
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1000.0];
        assert_eq!(spread(&values), Some(2.0 * NORMAL_SD_PER_MAD));
    }

    #[test]
    fn the_spread_of_few_or_equal_values_is_the_standard_deviation() {
        assert_eq!(spread(&[1.0, 3.0]), Some(2.0_f64.sqrt()));
        let mostly_equal = spread(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 7.0]).unwrap();
        assert!((mostly_equal - 7.0_f64.sqrt()).abs() < 1e-12, "{mostly_equal}");
        assert_eq!(spread(&[1.0]), None);
    }

    #[test]
    fn a_quantile_is_one_of_the_values() {
        let sorted = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(quantile(&sorted, 0.0), Some(1.0));
        assert_eq!(quantile(&sorted, 0.5), Some(2.0));
        assert_eq!(quantile(&sorted, 0.75), Some(3.0));
        assert_eq!(quantile(&sorted, 2.0), Some(4.0));
        assert_eq!(quantile(&[], 0.5), None);
    }
}
