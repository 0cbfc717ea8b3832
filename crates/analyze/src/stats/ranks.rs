//! Ranks of values, with ties.

/// Difference, relative to the largest magnitude, up to which values are equal: rounding must not break a tie.
const TIE: f64 = 1e-12;

/// Returns twice the midrank of each value, so that ranks of ties are integers: 2, 4, 6, … without ties.
pub(super) fn doubled_midranks(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|left, right| values[*left].total_cmp(&values[*right]));
    let tie = values.iter().fold(0.0_f64, |largest, value| largest.max(value.abs())) * TIE;
    let mut ranks = vec![0; values.len()];
    let mut first_rank = 1;
    for tied in order.chunk_by(|left, right| values[*right] - values[*left] <= tie) {
        let doubled = 2 * first_rank + tied.len() - 1;
        tied.iter().for_each(|idx| ranks[*idx] = doubled);
        first_rank += tied.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tied_values_share_the_mean_of_their_ranks() {
        assert_eq!(doubled_midranks(&[30.0, 10.0, 20.0]), [6, 2, 4]);
        assert_eq!(doubled_midranks(&[1.0, 2.0, 1.0, 3.0]), [3, 6, 3, 8]);
        assert_eq!(doubled_midranks(&[5.0; 4]), [5; 4]);
        assert_eq!(doubled_midranks(&[]), [0; 0]);
    }

    #[test]
    fn values_that_differ_by_rounding_are_tied() {
        assert_eq!(doubled_midranks(&[0.1 + 0.2, 0.3, 1.0]), [3, 3, 6]);
        assert_eq!(doubled_midranks(&[0.3, 0.300_001, 1.0]), [2, 4, 6]);
    }
}
