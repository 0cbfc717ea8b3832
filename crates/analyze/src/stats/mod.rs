//! Statistics of runs.
mod compare;
mod design;
mod multiple;
mod normal;
mod permutations;
mod plan;
mod random;
mod rank_test;
mod ranks;
mod robust;
mod warm_up;

pub use compare::{Method, TwoSided, compare};
pub use design::{Block, Design, Side, abba_blocks, blocks_of};
pub use multiple::{adjusted_level, holm};
pub use plan::{attainable_runs, runs_needed, smallest_p};
pub use random::Random;
pub use robust::{mad, median, spread};
pub use warm_up::warm_up;
