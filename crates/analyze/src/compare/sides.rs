//! The two sides of a comparison, and its options.

use crate::runs::{Profile, Run};
use crate::stats::{self, Block, Side};

/// Runs of one side.
#[derive(Clone, Copy, Debug)]
pub struct SideRuns<'a> {
    /// The runs.
    pub runs: &'a [Run],
    /// The time of the steps of all runs.
    pub profile: &'a Profile,
}

/// Options of [`compare`](super::compare()).
#[derive(Clone, Debug)]
pub struct CompareOptions {
    /// Confidence level of intervals and tests.
    pub level: f64,
    /// Share within which sides count as the same.
    pub margin: f64,
    /// Metrics to compare; empty for the headline metrics.
    pub metrics: Vec<String>,
    /// Compare in spite of concerns that would refuse ratios.
    pub force: bool,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self { level: 0.95, margin: 0.02, metrics: Vec::new(), force: false }
    }
}

/// Both sides, with facts that all metrics share.
pub(super) struct Sides<'a> {
    /// The base side.
    pub(super) base: SideRuns<'a>,
    /// The new side.
    pub(super) new: SideRuns<'a>,
    /// Blocks of neighboring runs, if the runs were interleaved.
    pub(super) blocks: Option<Vec<Block>>,
    /// True if ratios would be meaningless.
    pub(super) is_refused: bool,
}

impl<'a> Sides<'a> {
    /// Creates the sides of a comparison that is not refused so far.
    pub(super) fn new(base: SideRuns<'a>, new: SideRuns<'a>) -> Self {
        Self { base, new, blocks: interleaving(base.runs, new.runs), is_refused: false }
    }

    /// Returns the runs of both sides.
    pub(super) fn runs(&self) -> impl Iterator<Item = &'a Run> {
        self.base.runs.iter().chain(self.new.runs)
    }
}

/// Returns the blocks of neighboring runs, if every run states its start and the sides were interleaved.
fn interleaving(base: &[Run], new: &[Run]) -> Option<Vec<Block>> {
    let starts = |runs: &[Run], side: Side| -> Option<Vec<(i64, Side, usize)>> {
        runs.iter().enumerate().map(|(place, run)| Some((run.start_unix_ns?, side, place))).collect()
    };
    let mut order = starts(base, Side::Base)?;
    order.extend(starts(new, Side::New)?);
    order.sort_by_key(|&(start, _, place)| (start, place));
    let sides: Vec<Side> = order.iter().map(|&(_, side, _)| side).collect();
    let of = |wanted: Side| -> Vec<usize> {
        order.iter().filter(|(_, side, _)| *side == wanted).map(|&(.., place)| place).collect()
    };
    let (base, new) = (of(Side::Base), of(Side::New));
    let real = |places: &[usize], order: &[usize]| places.iter().filter_map(|&n| order.get(n).copied()).collect();
    let blocks = stats::blocks_of(&sides)?;
    Some(blocks.iter().map(|block| Block { base: real(&block.base, &base), new: real(&block.new, &new) }).collect())
}
