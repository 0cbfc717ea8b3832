//! Corrections for several metrics that are tested at once.

/// Returns p values that hold for all tests together, in the order of `p_values`, by Holm's method.
///
/// If none of the metrics changed, the probability that any adjusted value is at most 5 % is at most 5 %, whatever the
/// dependence between the metrics. Values that are not numbers count as 1.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    weighted_holm(p_values, &vec![1.0; p_values.len()])
}

/// Returns adjusted p values as [`holm`] does, with weights, which must be positive: a metric with more weight gets
/// more of the error rate. The error rate of a metric that is rejected goes to the others.
pub fn weighted_holm(p_values: &[f64], weights: &[f64]) -> Vec<f64> {
    let number = |p_value: &f64| if p_value.is_nan() { 1.0 } else { *p_value };
    let mut order: Vec<(usize, f64, f64)> =
        p_values.iter().map(number).zip(weights).enumerate().map(|(idx, (p, weight))| (idx, p, *weight)).collect();
    order.sort_by(|left, right| (left.1 / left.2).total_cmp(&(right.1 / right.2)));
    let mut adjusted = vec![1.0; p_values.len()];
    let (mut largest, mut left): (f64, f64) = (0.0, weights.iter().sum());
    for (idx, p_value, weight) in order {
        largest = largest.max((p_value * left / weight).min(1.0));
        adjusted[idx] = largest;
        left -= weight;
    }
    adjusted
}

/// Returns the level of each of `n_metrics` intervals that contain all true values together with probability `level`.
///
/// It is Bonferroni's correction, which is slightly stricter than [`holm`]: the error rate is divided by the number.
pub fn adjusted_level(level: f64, n_metrics: usize) -> f64 {
    1.0 - (1.0 - level) / n_metrics.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_metric_with_more_weight_gets_more_of_the_error_rate() {
        let close = |found: Vec<f64>, expected: [f64; 3]| {
            assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12), "{found:?}");
        };
        close(weighted_holm(&[0.03, 0.03, 0.2], &[8.0, 1.0, 1.0]), [0.0375, 0.06, 0.2]);
        close(weighted_holm(&[0.9, 0.004, 0.2], &[8.0, 1.0, 1.0]), [1.0, 0.04, 1.0]);
    }

    #[test]
    fn the_smallest_value_is_multiplied_by_the_number_of_tests() {
        let found = holm(&[0.01, 0.04, 0.03]);
        let expected = [0.03, 0.06, 0.06];
        assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12), "{found:?}");
        assert_eq!(holm(&[0.9, f64::NAN, 0.2]), [1.0, 1.0, 0.6000000000000001]);
        assert_eq!(holm(&[0.25]), [0.25]);
        assert_eq!(holm(&[]), [0.0; 0]);
    }

    #[test]
    fn the_error_rate_is_divided_among_intervals() {
        assert!((adjusted_level(0.95, 5) - 0.99).abs() < 1e-12);
        assert_eq!(adjusted_level(0.95, 1), 0.95);
        assert_eq!(adjusted_level(0.95, 0), 0.95);
    }

    proptest! {
        #[test]
        fn adjusted_values_keep_the_order_and_never_fall(p_values in prop::collection::vec(0.0..1.0_f64, 0..20)) {
            let adjusted = holm(&p_values);
            for (idx, p_value) in p_values.iter().enumerate() {
                prop_assert!(*p_value <= adjusted[idx] && adjusted[idx] <= 1.0);
                prop_assert!(p_values.iter().zip(&adjusted).all(|(other, to)| other >= p_value || *to <= adjusted[idx]));
            }
        }
    }
}
