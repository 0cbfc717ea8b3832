//! Distribution of a sum of ranks over all ways to choose the runs of one side within each block.

/// The ranks of one block, and how many of them are chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BlockRanks {
    /// Ranks of all runs of the block, in ascending order.
    pub(super) ranks: Vec<usize>,
    /// Number of runs of the new side.
    pub(super) n_chosen: usize,
}

impl BlockRanks {
    /// Returns the mean of the sum of the chosen ranks.
    pub(super) fn mean(&self) -> f64 {
        self.mean_rank() * self.n_chosen as f64
    }

    /// Returns the variance of the sum of the chosen ranks. Ties are accounted for, because it is that of the ranks.
    pub(super) fn variance(&self) -> f64 {
        let (n, chosen) = (self.ranks.len() as f64, self.n_chosen as f64);
        let mean = self.mean_rank();
        let squares: f64 = self.ranks.iter().map(|rank| (*rank as f64 - mean).powi(2)).sum();
        if n < 2.0 { 0.0 } else { chosen * (n - chosen) / (n * (n - 1.0)) * squares }
    }

    fn mean_rank(&self) -> f64 {
        self.ranks.iter().sum::<usize>() as f64 / self.ranks.len().max(1) as f64
    }

    /// Returns the smallest sum, and the probability of each excess over it.
    ///
    /// `counts[k][s]` is the number of ways to choose k of the ranks seen so far with an excess of s over k times the
    /// smallest rank.
    fn sums(&self) -> (usize, Vec<f64>) {
        let smallest = self.ranks.first().copied().unwrap_or(0);
        let excess: Vec<usize> = self.ranks.iter().map(|rank| rank - smallest).collect();
        let excess_max: usize = excess.iter().rev().take(self.n_chosen).sum();
        let mut counts = vec![vec![0.0; excess_max + 1]; self.n_chosen + 1];
        counts[0][0] = 1.0;
        for (n_seen, rank) in excess.iter().enumerate() {
            for n_chosen in (1..=self.n_chosen.min(n_seen + 1)).rev() {
                let (fewer, more) = counts.split_at_mut(n_chosen);
                add_shifted(&mut more[0], &fewer[n_chosen - 1], *rank, 1.0);
            }
        }
        let chosen = counts.pop().unwrap_or_default();
        let total: f64 = chosen.iter().sum();
        (smallest * self.n_chosen, chosen.iter().map(|count| count / total).collect())
    }
}

/// Exact distribution of the sum of the chosen ranks of all blocks.
#[derive(Clone, Debug)]
pub(super) struct SumDistribution {
    smallest: usize,
    /// Probability of each excess over the smallest sum.
    probabilities: Vec<f64>,
}

impl SumDistribution {
    /// Returns the distribution if all choices within a block are equally likely, and blocks are independent.
    pub(super) fn of(blocks: &[BlockRanks]) -> Self {
        let start = Self { smallest: 0, probabilities: vec![1.0] };
        blocks.iter().fold(start, |sum, block| sum.plus(block.sums()))
    }

    fn plus(&self, (smallest, probabilities): (usize, Vec<f64>)) -> Self {
        let mut sums = vec![0.0; self.probabilities.len() + probabilities.len() - 1];
        for (excess, probability) in probabilities.iter().enumerate().filter(|(_, probability)| **probability > 0.0) {
            add_shifted(&mut sums, &self.probabilities, excess, *probability);
        }
        Self { smallest: self.smallest + smallest, probabilities: sums }
    }

    /// Returns the probabilities of a sum of at most, and of at least, `sum`.
    pub(super) fn tails(&self, sum: usize) -> (f64, f64) {
        let excess = sum.saturating_sub(self.smallest).min(self.probabilities.len() - 1);
        let at_most: f64 = self.probabilities.iter().take(excess + 1).sum();
        let at_least: f64 = self.probabilities.iter().skip(excess).sum();
        (at_most, at_least)
    }
}

/// Adds `factor * from[i]` to `to[i + shift]`, where that exists.
fn add_shifted(to: &mut [f64], from: &[f64], shift: usize, factor: f64) {
    for (to, from) in to.iter_mut().skip(shift).zip(from) {
        *to += factor * from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the sums of all ways to choose, one for each way.
    fn enumerated(blocks: &[BlockRanks]) -> Vec<usize> {
        let Some((block, rest)) = blocks.split_first() else { return vec![0] };
        let rest = enumerated(rest);
        (0..1_usize << block.ranks.len())
            .filter(|chosen| chosen.count_ones() as usize == block.n_chosen)
            .map(|chosen| block.ranks.iter().enumerate().filter(|(idx, _)| chosen >> idx & 1 == 1).map(|it| it.1).sum())
            .flat_map(|sum: usize| rest.iter().map(move |rest| sum + rest).collect::<Vec<_>>())
            .collect()
    }

    fn assert_equal_to_enumeration(blocks: &[BlockRanks]) {
        let sums = enumerated(blocks);
        let share = |count: usize| count as f64 / sums.len() as f64;
        let distribution = SumDistribution::of(blocks);
        for sum in &sums {
            let (at_most, at_least) = distribution.tails(*sum);
            let expected_at_most = share(sums.iter().filter(|it| *it <= sum).count());
            let expected_at_least = share(sums.iter().filter(|it| *it >= sum).count());
            assert!((at_most - expected_at_most).abs() < 1e-12, "{blocks:?} {sum}: {at_most} {expected_at_most}");
            assert!((at_least - expected_at_least).abs() < 1e-12, "{blocks:?} {sum}: {at_least} {expected_at_least}");
        }
        let mean = sums.iter().sum::<usize>() as f64 / sums.len() as f64;
        let variance = sums.iter().map(|sum| (*sum as f64 - mean).powi(2)).sum::<f64>() / sums.len() as f64;
        assert!((blocks.iter().map(BlockRanks::mean).sum::<f64>() - mean).abs() < 1e-9);
        assert!((blocks.iter().map(BlockRanks::variance).sum::<f64>() - variance).abs() < 1e-9);
    }

    #[test]
    fn the_distribution_is_that_of_all_choices() {
        let block = |ranks: &[usize], n_chosen| BlockRanks { ranks: ranks.to_vec(), n_chosen };
        assert_equal_to_enumeration(&[block(&[2, 4, 6, 8, 10, 12], 3)]);
        assert_equal_to_enumeration(&[block(&[3, 3, 7, 7, 7, 12, 14], 3)]);
        assert_equal_to_enumeration(&[block(&[5, 5, 5, 5], 2)]);
        assert_equal_to_enumeration(&[block(&[2, 6, 11, 20], 2), block(&[4, 8, 11, 18], 2), block(&[14, 16], 1)]);
        assert_equal_to_enumeration(&[block(&[2, 6, 8], 1), block(&[4, 10], 1)]);
        assert_equal_to_enumeration(&[]);
    }
}
