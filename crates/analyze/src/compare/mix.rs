//! Mix of batches that both sides share.

/// Returns the weight of each stratum at the common mix: the mean of its shares of the steps of both sides. `n_steps`
/// has the numbers of base and new steps of each stratum.
pub(super) fn common_weights(n_steps: &[[u64; 2]]) -> Vec<f64> {
    let totals = [0, 1].map(|side| n_steps.iter().map(|counts| counts[side] as f64).sum::<f64>());
    let share = |counts: &[u64; 2], side: usize| counts[side] as f64 / totals[side].max(1.0);
    n_steps.iter().map(|counts| (share(counts, 0) + share(counts, 1)) / 2.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_the_mean_of_the_shares_of_both_sides() {
        assert_eq!(common_weights(&[[90, 5], [10, 5]]), [0.7, 0.3]);
        assert!(common_weights(&[]).is_empty());
    }
}
