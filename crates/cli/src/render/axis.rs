//! Ticks of time axes.

use super::units::time;

/// Returns the distance of ticks: 1, 2 or 5 times a power of ten, with enough space for their labels. `width` is the
/// length of the axis in pixels, from 0 to `longest`.
pub(crate) fn tick_step(longest: i64, width: f64) -> i64 {
    let n_ticks_max = (width / 80.0).floor().max(1.0) as i64;
    let least = longest / n_ticks_max + i64::from(longest % n_ticks_max > 0);
    let mut power: i64 = 1;
    loop {
        for factor in [1, 2, 5] {
            let step = power.saturating_mul(factor);
            if step >= least {
                return step;
            }
        }
        power = power.saturating_mul(10);
    }
}

/// Formats a time without trailing zeros.
pub(crate) fn short_time(ns: i64) -> String {
    let text = time(ns);
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ if ns == 0 => "0".to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers_with_space_for_labels() {
        assert_eq!(tick_step(3_000_000, 720.0), 500_000);
        assert_eq!(tick_step(91, 320.0), 50);
        assert_eq!(tick_step(0, 720.0), 1);
        assert!(tick_step(i64::MAX, 300.0) > 0);
    }

    #[test]
    fn times_have_no_trailing_zeros() {
        assert_eq!([0, 500, 500_000, 1_500_000].map(short_time), ["0", "500 ns", "500 µs", "1.5 ms"]);
    }
}
