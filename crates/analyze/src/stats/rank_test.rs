//! Exact test of ranks: the sum of the ranks of the new side against all assignments of runs to sides.

use super::design::{Block, Design};
use super::normal::upper_tail;
use super::permutations::{BlockRanks, SumDistribution};
use super::ranks::doubled_midranks;
use super::shifts::Shifts;

/// Number of runs of both sides up to which all assignments are counted. Above, the sum is taken as normal.
const N_EXACT_MAX: usize = 60;

/// Magnitude above which a value is ignored like one that is not finite, so that no difference overflows.
const VALUE_MAX: f64 = 1e100;

/// Difference of slopes that is rounding only.
const PARALLEL: f64 = 1e-9;

/// Half the step between two sums of doubled ranks: correction for a normal distribution in place of a discrete one.
const CONTINUITY: f64 = 1.0;

/// The values of one block.
#[derive(Clone, Debug)]
struct BlockValues {
    base: Vec<f64>,
    new: Vec<f64>,
}

/// A test of two sides that can be repeated with the new side moved by any shift.
pub(super) struct RankTest {
    blocks: Vec<BlockValues>,
    /// The last distribution, which is that of the next shift too unless the ranks of a block change.
    last: Option<(Vec<BlockRanks>, SumDistribution)>,
}

/// Probabilities under the hypothesis that the sides differ by nothing but the shift.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tails {
    /// Probability that the new side ranks as low as it does, or lower.
    pub(super) low: f64,
    /// Probability that the new side ranks as high as it does, or higher.
    pub(super) high: f64,
}

impl RankTest {
    /// Returns the test, or `None` if no block has a usable value on both sides.
    pub(super) fn new(base: &[f64], new: &[f64], design: &Design) -> Option<Self> {
        let all = |n: usize| (0..n).collect();
        let whole = || vec![Block { base: all(base.len()), new: all(new.len()) }];
        let blocks = match design {
            Design::Independent => &whole(),
            Design::Blocks(blocks) => blocks,
        };
        let blocks: Vec<BlockValues> = blocks
            .iter()
            .map(|block| BlockValues { base: usable(base, &block.base), new: usable(new, &block.new) })
            .filter(|block| !block.base.is_empty() && !block.new.is_empty())
            .collect();
        (!blocks.is_empty()).then_some(Self { blocks, last: None })
    }

    /// Reports whether all assignments are counted.
    pub(super) fn is_exact(&self) -> bool {
        self.blocks.iter().map(BlockValues::n_runs).sum::<usize>() <= N_EXACT_MAX
    }

    /// Returns the shifts to try: those at which two values change their order, or any if these would be too many.
    pub(super) fn shifts(&self) -> Shifts {
        let range = self.blocks.iter().map(BlockValues::range).fold(0.0, f64::max);
        if self.is_exact() { Shifts::from_points(self.crossings(), range) } else { Shifts::Any(range) }
    }

    /// Returns the shifts at which two aligned values are equal, if they do not move in parallel.
    fn crossings(&self) -> Vec<f64> {
        let still: Vec<f64> = self.blocks.iter().flat_map(|block| block.aligned(0.0)).collect();
        let slopes: Vec<f64> = self.blocks.iter().flat_map(BlockValues::slopes).collect();
        let lines: Vec<(f64, f64)> = still.into_iter().zip(slopes).collect();
        let pairs =
            lines.iter().enumerate().flat_map(|(idx, line)| lines.iter().skip(idx + 1).map(move |it| (line, it)));
        pairs
            .filter(|(left, right)| (left.1 - right.1).abs() > PARALLEL)
            .map(|(left, right)| (left.0 - right.0) / (right.1 - left.1))
            .collect()
    }

    /// Returns the sum of the ranks of the new side after it is moved down by `shift`, less its expectation.
    ///
    /// It falls while the shift grows, if all blocks have the same share of new runs.
    pub(super) fn excess(&self, shift: f64) -> f64 {
        let (sum, blocks) = self.ranked(shift);
        sum as f64 - blocks.iter().map(BlockRanks::mean).sum::<f64>()
    }

    /// Returns the probabilities of the sum of ranks after the new side is moved down by `shift`.
    pub(super) fn tails(&mut self, shift: f64) -> Tails {
        let (sum, blocks) = self.ranked(shift);
        if !self.is_exact() {
            return normal_tails(sum, &blocks);
        }
        let distribution = match self.last.take() {
            Some((same, distribution)) if same == blocks => distribution,
            _ => SumDistribution::of(&blocks),
        };
        let (low, high) = distribution.tails(sum);
        self.last = Some((blocks, distribution));
        Tails { low, high }
    }

    /// Returns the sum of the ranks of the new side, and the ranks of each block.
    ///
    /// Values are ranked after the mean of their block is subtracted, so that blocks are comparable.
    fn ranked(&self, shift: f64) -> (usize, Vec<BlockRanks>) {
        let aligned: Vec<f64> = self.blocks.iter().flat_map(|block| block.aligned(shift)).collect();
        let ranks = doubled_midranks(&aligned);
        let mut rest = ranks.as_slice();
        let mut sum = 0;
        let mut blocks = Vec::with_capacity(self.blocks.len());
        for block in &self.blocks {
            let (own, others) = rest.split_at(block.n_runs());
            rest = others;
            sum += own.iter().skip(block.base.len()).sum::<usize>();
            let mut ranks = own.to_vec();
            ranks.sort_unstable();
            blocks.push(BlockRanks { ranks, n_chosen: block.new.len() });
        }
        (sum, blocks)
    }
}

impl BlockValues {
    fn n_runs(&self) -> usize {
        self.base.len() + self.new.len()
    }

    fn range(&self) -> f64 {
        let values = || self.base.iter().chain(&self.new).copied();
        values().fold(f64::NEG_INFINITY, f64::max) - values().fold(f64::INFINITY, f64::min)
    }

    /// Returns the change of each aligned value with the shift. In all of a block, they sum to zero.
    fn slopes(&self) -> impl Iterator<Item = f64> {
        let (n_base, n_new) = (self.base.len(), self.new.len());
        let of_base = n_new as f64 / self.n_runs() as f64;
        std::iter::repeat_n(of_base, n_base).chain(std::iter::repeat_n(of_base - 1.0, n_new))
    }

    /// Returns base and new values, the latter moved down by `shift`, less the mean of them all.
    fn aligned(&self, shift: f64) -> impl Iterator<Item = f64> {
        let values = move || self.base.iter().copied().chain(self.new.iter().map(move |value| value - shift));
        let mean = values().sum::<f64>() / self.n_runs() as f64;
        values().map(move |value| value - mean)
    }
}

fn usable(values: &[f64], indices: &[usize]) -> Vec<f64> {
    indices.iter().filter_map(|idx| values.get(*idx)).copied().filter(|value| value.abs() <= VALUE_MAX).collect()
}

fn normal_tails(sum: usize, blocks: &[BlockRanks]) -> Tails {
    let excess = sum as f64 - blocks.iter().map(BlockRanks::mean).sum::<f64>();
    let sd = blocks.iter().map(BlockRanks::variance).sum::<f64>().sqrt();
    if sd == 0.0 {
        return Tails { low: 1.0, high: 1.0 };
    }
    Tails { low: upper_tail((-excess - CONTINUITY) / sd), high: upper_tail((excess - CONTINUITY) / sd) }
}

#[cfg(test)]
mod tests {
    use super::super::design::abba_blocks;
    use super::super::random::Random;
    use super::*;

    /// Asserts that exact and normal probabilities of 30 runs a side differ by less than 1 %.
    fn assert_methods_meet(design: &Design, value: impl Fn(f64) -> f64) {
        let mut random = Random::new(6);
        let mut side = || (0..30).map(|_| value(random.normal())).collect::<Vec<f64>>();
        let (base, new) = (side(), side());
        let mut test = RankTest::new(&base, &new, design).unwrap();
        assert!(test.is_exact());
        for shift in [-1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0] {
            let exact = test.tails(shift);
            let (sum, blocks) = test.ranked(shift);
            let normal = normal_tails(sum, &blocks);
            assert!((exact.low - normal.low).abs() < 0.01, "{shift}: {exact:?} {normal:?}");
            assert!((exact.high - normal.high).abs() < 0.01, "{shift}: {exact:?} {normal:?}");
        }
    }

    #[test]
    fn exact_and_normal_probabilities_meet() {
        assert_methods_meet(&Design::Independent, |value| value);
        assert_methods_meet(&Design::Blocks(abba_blocks(30)), |value| value);
    }

    #[test]
    fn ties_are_accounted_for_by_both_methods() {
        assert_methods_meet(&Design::Independent, |value| value.round());
    }

    #[test]
    fn the_excess_falls_while_the_shift_grows() {
        let (base, new) = ([1.0, 2.0, 4.0, 8.0], [1.5, 2.0, 5.0, 9.0]);
        let one = vec![Block { base: (0..4).collect(), new: (0..4).collect() }];
        for design in [Design::Independent, Design::Blocks(abba_blocks(4)), Design::Blocks(one)] {
            let test = RankTest::new(&base, &new, &design).unwrap();
            let excess: Vec<f64> = (-40..40).map(|shift| test.excess(f64::from(shift) / 4.0)).collect();
            assert!(excess.is_sorted_by(|left, right| left >= right), "{excess:?}");
        }
    }
}
