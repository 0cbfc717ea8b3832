//! Order in which the runs of two sides were made, and the blocks of neighbors that follow from it.

/// One of the two sides of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The side that the other is compared with.
    Base,
    /// The side in question.
    New,
}

/// Runs of both sides that follow each other in time. Each run belongs to at most one block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Indices of its runs among the runs of the base.
    pub base: Vec<usize>,
    /// Indices of its runs among the runs of the new side.
    pub new: Vec<usize>,
}

/// Assumption about the runs of two sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Design {
    /// All runs were made under the same conditions. If the sides do not differ, any order of them was equally likely.
    Independent,
    /// Conditions changed with time. Only runs of the same block were made under the same conditions.
    Blocks(Vec<Block>),
}

/// Runs of a block that are enough to end it, on each side: an ABBA or ABAB sequence.
const N_PER_SIDE: usize = 2;

/// Number of runs that still count as neighbors.
const N_NEIGHBORS_MAX: usize = 8;

impl Block {
    fn push(&mut self, side: Side, idx: usize) {
        match side {
            Side::Base => self.base.push(idx),
            Side::New => self.new.push(idx),
        }
    }

    fn append(&mut self, mut other: Self) {
        self.base.append(&mut other.base);
        self.new.append(&mut other.new);
    }

    fn has_both(&self, n: usize) -> bool {
        self.base.len() >= n && self.new.len() >= n
    }

    fn n_runs(&self) -> usize {
        self.base.len() + self.new.len()
    }
}

/// Returns the blocks of interleaved runs from the sides of all runs in the order of time.
///
/// A block ends as soon as it has two runs of each side, and the last one also gets the runs that are left over:
/// `ABBAABBAAB` has the blocks `ABBA` and `ABBAAB`. Up to 8 runs are one block, because smaller blocks of so few runs
/// have too few assignments for any significance. A few missing runs make some blocks larger.
///
/// Returns `None` if the runs were not interleaved: if there are fewer changes of side than one in three runs, or if a
/// block would have more than 8 runs.
pub fn blocks_of(order: &[Side]) -> Option<Vec<Block>> {
    let n_changes = order.windows(2).filter(|pair| pair.first() != pair.last()).count();
    let blocks = cut(order);
    let are_blocks = blocks.iter().all(|block| block.has_both(1) && block.n_runs() <= N_NEIGHBORS_MAX);
    (are_blocks && !blocks.is_empty() && n_changes * 3 >= order.len()).then_some(blocks)
}

/// Returns the blocks of `n_runs` runs a side in the order ABBA, ABBA, …
pub fn abba_blocks(n_runs: usize) -> Vec<Block> {
    let cycle = [Side::Base, Side::New, Side::New, Side::Base];
    let order: Vec<Side> = cycle.into_iter().cycle().take(n_runs.saturating_mul(2)).collect();
    cut(&order)
}

/// Cuts the runs into blocks, of which only a single one can lack a side.
fn cut(order: &[Side]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut block = Block::default();
    let (mut n_base, mut n_new) = (0, 0);
    for side in order {
        let next = if *side == Side::Base { &mut n_base } else { &mut n_new };
        block.push(*side, *next);
        *next += 1;
        if order.len() > N_NEIGHBORS_MAX && block.has_both(N_PER_SIDE) {
            blocks.push(std::mem::take(&mut block));
        }
    }
    match blocks.last_mut() {
        Some(last) => last.append(block),
        None => blocks.push(block),
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sides(order: &str) -> Vec<Side> {
        order.chars().map(|letter| if letter == 'A' { Side::Base } else { Side::New }).collect()
    }

    /// Returns the number of runs of each side in each block.
    fn sizes(order: &str) -> Option<Vec<(usize, usize)>> {
        let blocks = blocks_of(&sides(order))?;
        Some(blocks.iter().map(|block| (block.base.len(), block.new.len())).collect())
    }

    #[test]
    fn interleaved_runs_have_blocks() {
        assert_eq!(sizes("ABBAABBAAB"), Some(vec![(2, 2), (3, 3)]));
        assert_eq!(sizes("ABBAABBAABBA"), Some(vec![(2, 2); 3]));
        assert_eq!(sizes("ABABABABABAB"), Some(vec![(2, 2); 3]));
        assert_eq!(sizes("AABBAABBAABB"), Some(vec![(2, 2); 3]));
        assert_eq!(sizes("ABBAABBA"), Some(vec![(4, 4)]));
        assert_eq!(sizes("AB"), Some(vec![(1, 1)]));
    }

    #[test]
    fn a_few_missing_runs_make_larger_blocks() {
        assert_eq!(sizes("ABBAABAABBA"), Some(vec![(2, 2), (4, 3)]));
        assert_eq!(sizes("BBAABBAABBAAB"), Some(vec![(2, 2), (2, 2), (2, 3)]));
        assert_eq!(sizes("ABBAA"), Some(vec![(3, 2)]));
    }

    #[test]
    fn blocks_hold_every_run_once() {
        let blocks = blocks_of(&sides("ABBABAABAB")).unwrap();
        assert_eq!(blocks[0], Block { base: vec![0, 1], new: vec![0, 1] });
        assert_eq!(blocks[1], Block { base: vec![2, 3, 4], new: vec![2, 3, 4] });
        assert_eq!(blocks_of(&sides("ABBAABBAAB")).unwrap(), abba_blocks(5));
    }

    #[test]
    fn runs_of_one_side_after_the_other_are_not_interleaved() {
        for order in ["", "A", "BB", "AAAAABBBBB", "AAABBB", "AABB", "ABBBBBBBBBB", "AAAAAAABBBBBBAABABABABAB"] {
            assert_eq!(sizes(order), None, "{order}");
        }
    }
}
