//! Probabilities and quantiles of the normal distribution.

use std::f64::consts::{PI, SQRT_2};

/// Distance from zero up to which the power series converges quickly.
const SERIES_MAX: f64 = 3.0;

/// Largest distance of a quantile from zero. Probabilities beyond it are smaller than a float can hold.
const QUANTILE_MAX: f64 = 38.0;

/// Returns the probability that a standard normal value is larger than `z`.
pub(super) fn upper_tail(z: f64) -> f64 {
    match z {
        z if z < 0.0 => 1.0 - upper_tail(-z),
        z if z <= SERIES_MAX => 0.5 - density(z) * series(z),
        _ => density(z) / continued_fraction(z),
    }
}

/// Returns the value that a standard normal value exceeds with the given probability.
pub(super) fn upper_quantile(probability: f64) -> f64 {
    let (mut low, mut high) = (-QUANTILE_MAX, QUANTILE_MAX);
    // The bracket halves until its ends are neighboring floats.
    while let middle = low / 2.0 + high / 2.0
        && low < middle
        && middle < high
    {
        if upper_tail(middle) > probability { low = middle } else { high = middle }
    }
    high
}

/// Returns an approximate quantile of Student's t distribution for the same probability as the normal quantile `z`.
///
/// It is the start of the expansion in powers of 1 / `n_free`, accurate to 2 % for 4 degrees of freedom and more.
pub(super) fn student_quantile(z: f64, n_free: f64) -> f64 {
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    z + first / n_free + second / n_free.powi(2)
}

fn density(z: f64) -> f64 {
    (-z * z / 2.0).exp() / (PI.sqrt() * SQRT_2)
}

/// Returns the probability between zero and `z`, divided by the density: z + z³/3 + z⁵/(3·5) + …
fn series(z: f64) -> f64 {
    let mut term = z;
    let mut sum = z;
    let mut odd = 1.0;
    while term > sum * f64::EPSILON {
        odd += 2.0;
        term *= z * z / odd;
        sum += term;
    }
    sum
}

/// Returns the density divided by the upper tail: z + 1/(z + 2/(z + 3/(z + …))).
fn continued_fraction(z: f64) -> f64 {
    const N_TERMS: u32 = 60;
    (1..=N_TERMS).rev().fold(z, |rest, term| z + f64::from(term) / rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_agree_with_tables() {
        for (z, probability) in [
            (0.0, 0.5),
            (1.0, 0.158_655_253_931_457),
            (1.959_963_984_540_054, 0.025),
            (3.5, 0.000_232_629_079_035_525),
            (6.0, 9.865_876_450_377e-10),
        ] {
            let found = upper_tail(z);
            assert!((found / probability - 1.0).abs() < 1e-9, "{z}: {found}");
            assert!((upper_tail(-z) - (1.0 - probability)).abs() < 1e-12, "-{z}");
        }
        assert_eq!(upper_tail(f64::INFINITY), 0.0);
    }

    #[test]
    fn series_and_fraction_meet() {
        let (below, above) = (upper_tail(SERIES_MAX), upper_tail(SERIES_MAX + 1e-9));
        assert!((below / above - 1.0).abs() < 1e-7, "{below} {above}");
    }

    #[test]
    fn a_quantile_is_the_inverse_of_its_probability() {
        assert!((upper_quantile(0.025) - 1.959_963_984_540_054).abs() < 1e-9);
        assert!(upper_quantile(0.5).abs() < 1e-9);
        assert!((upper_quantile(0.975) + 1.959_963_984_540_054).abs() < 1e-9);
        assert!(upper_quantile(0.0) > 30.0 && upper_quantile(1.0) < -8.0);
    }

    #[test]
    fn quantiles_of_student_agree_with_tables() {
        for (n_free, expected) in [(5.0, 2.5706), (10.0, 2.2281), (30.0, 2.0423), (1e9, 1.96)] {
            let found = student_quantile(1.96, n_free);
            assert!((found / expected - 1.0).abs() < 0.01, "{n_free}: {found}");
        }
    }
}
