//! Statistics of runs: is a difference between two sides real, how large is it, and how many runs does the answer need?
//!
//! Functions of plain figures, one for each run, on a natural-log scale: differences are ratios, and a slow run counts
//! as much as a fast one. Nothing here knows traces. Results are the same in every execution.
//!
//! - **The run is the unit.** Steps of a run depend on each other, and runs differ by more than their steps show. A
//!   test of all steps raises false alarms in 70 % of comparisons of equal sides; see `docs/statistics.md`.
//! - **Ranks** ([`compare`]): the exact Mann-Whitney test, because runs are few and have outliers. Its error rate holds
//!   for any distribution, and it needs no estimate of variance.
//! - **Blocks** ([`Design::Blocks`], [`blocks_of`]): interleaved runs are compared with their neighbors, because the
//!   speed of a machine drifts. In simulations of 5 to 12 interleaved runs a side, blocks find as much as the test
//!   without them if nothing drifts (3 % slower, 10 runs: 95 and 96 %), and much more if something does (drift of 10 %
//!   over the series: 93 % against 27 %). So they are the default wherever [`blocks_of`] finds them. Small blocks have
//!   few assignments, so a remainder joins its neighbor: of 5 runs a side, blocks of 2 and 3 find 5 % in 96 % of
//!   cases, blocks of 2, 2 and 1 in 89 %.
//! - **One procedure.** All runs in one block are the Mann-Whitney test, pairs are nearly Wilcoxon's signed-rank test.
//!   The interval has the shifts that the test does not reject, so the two never disagree.
//! - **Numbers of runs** ([`smallest_p`], [`attainable_runs`], [`runs_needed`]): 3 runs a side are never significant.
//! - **Several metrics** ([`holm`], [`adjusted_level`]) and **early stopping** ([`looks`]): by bounds that hold for any
//!   dependence, since metrics and looks at the same runs depend on each other.
//! - **Within a run**: [`warm_up`] drops slow first steps, [`two_modes`] finds bimodal figures, which fool medians, and
//!   [`block_bootstrap`] shows how stable a figure of one run is.

mod bootstrap;
mod compare;
mod design;
mod looks;
mod modes;
mod multiple;
mod normal;
mod permutations;
mod plan;
mod random;
mod rank_test;
mod ranks;
mod robust;
mod shifts;
mod warm_up;

pub use bootstrap::{Interval, Statistic, block_bootstrap};
pub use compare::{Method, TwoSided, compare};
pub use design::{Block, Design, Side, abba_blocks, blocks_of};
pub use looks::{Look, Order, looks};
pub use modes::{Modes, two_modes};
pub use multiple::{adjusted_level, holm, weighted_holm};
pub use plan::{attainable_runs, runs_needed, smallest_p};
pub use random::Random;
pub use robust::{mad, median, quantile, spread};
pub use warm_up::warm_up;
