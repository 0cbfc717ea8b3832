//! The comparisons to make.

use crate::args::Args;

use super::OPS;
use super::shares::Shares;

/// Slowdowns of a step that are planted, with the number of runs per side.
const PLANTED: [(f64, usize); 2] = [(0.03, 10), (0.05, 5)];

/// Several comparisons of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Series {
    pub n_comparisons: usize,
    /// Runs per side.
    pub runs: usize,
    /// Share by which the steps of the new side take longer. `None`: the sides are equal (A/A).
    pub slowdown: Option<f64>,
}

/// A slowdown of one operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plant {
    pub op: &'static str,
    /// Share of the operation in the time of steps.
    pub share: f64,
    /// Factor of the operation's time.
    pub factor: f64,
}

/// The operations that can be slowed down, with their shares.
#[derive(Clone, Debug)]
pub(super) struct Plants {
    shares: Vec<(&'static str, f64)>,
}

/// The side of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Base,
    New,
}

/// The series that the flags select.
pub(super) fn series(args: &Args) -> Vec<Series> {
    let aa = Series { n_comparisons: args.aa as usize, runs: args.runs as usize, slowdown: None };
    let n_comparisons = args.planted as usize;
    let planted = PLANTED.map(|(slowdown, runs)| Series { n_comparisons, runs, slowdown: Some(slowdown) });
    [aa].into_iter().chain(planted).collect()
}

impl Series {
    /// Number of runs of both sides in all comparisons.
    pub(super) fn n_runs(&self) -> usize {
        2 * self.runs * self.n_comparisons
    }

    /// `A/A`, or the planted slowdown.
    pub(super) fn name(&self) -> String {
        self.slowdown.map_or_else(|| "A/A".to_owned(), |slowdown| format!("{:.0} % slower", slowdown * 100.0))
    }
}

impl Plants {
    pub(super) fn new(shares: &Shares) -> Self {
        Self { shares: OPS.iter().map(|op| (*op, shares.of(op))).filter(|(_, share)| *share > 0.0).collect() }
    }

    /// For each operation, the factor with which a step takes longer by `slowdown`.
    pub(super) fn of(&self, slowdown: f64) -> impl Iterator<Item = Plant> {
        self.shares.iter().map(move |&(op, share)| Plant { op, share, factor: 1.0 + slowdown / share })
    }
}

/// The sides of consecutive runs: each side once in every pair, in alternating order (base, new, new, base, …).
pub(super) fn interleaved(runs: usize, is_new_first: bool) -> Vec<Side> {
    let pair = |n: usize| match (n % 2 == 1) != is_new_first {
        false => [Side::Base, Side::New],
        true => [Side::New, Side::Base],
    };
    (0..runs).flat_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    #[test]
    fn the_slowed_operation_adds_the_slowdown_to_the_step() {
        let mut shares = Shares::default();
        shares.set("attention", 600, 1000);
        shares.set("lm_head", 50, 1000);
        let plants: Vec<Plant> = Plants::new(&shares).of(0.03).collect();
        let close = |plant: &Plant| (plant.share * (plant.factor - 1.0) - 0.03).abs() < 1e-9;
        assert!(plants.len() == 2 && plants.iter().all(close), "{plants:?}");
        assert_eq!((plants[0].op, plants[0].factor), ("attention", 1.05));
    }

    #[test]
    fn neighbors_are_of_both_sides_and_each_side_goes_first_in_turn() {
        use Side::{Base, New};
        assert_eq!(interleaved(3, false), [Base, New, New, Base, Base, New]);
        assert_eq!(interleaved(2, true), [New, Base, Base, New]);
    }

    #[test]
    fn the_flags_select_the_numbers_of_comparisons() {
        let all = series(&Args::parse_from("bench gate --aa 7 --runs 4 --planted 2".split(' ')));
        assert_eq!(all.iter().map(Series::n_runs).collect::<Vec<_>>(), [56, 40, 20]);
        assert_eq!(all.iter().map(Series::name).collect::<Vec<_>>(), ["A/A", "3 % slower", "5 % slower"]);
    }
}
