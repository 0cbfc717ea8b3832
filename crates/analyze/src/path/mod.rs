//! The critical path of a step, a request, a range of time or a whole trace: the chain of work and waits that
//! determines how long it takes, and what would change if work took another time.
//!
//! [`build`](build::build) makes a graph of a trace. Its nodes are pieces of work: parts of slices of threads
//! (`segments.rs`), and kernels and copies (`works.rs`). Its edges are dependencies that the data supports
//! (`edges.rs`): the order on a thread or stream, launches, synchronization, messages between threads, collectives of
//! several ranks. `walk.rs` follows the binding dependencies back from the end of a window; `retime.rs` computes all
//! times again after a change. `docs/path.md` has the definitions.

mod bound;
mod build;
mod calls;
mod categories;
mod choice;
mod collectives;
mod edges;
mod graph;
mod kinds;
mod messages;
mod node;
mod off_path;
mod piece;
mod ranks;
mod report;
mod retime;
mod segments;
mod slack;
mod syncs;
mod timing;
mod totals;
mod walk;
mod what_if;
mod window;
mod works;

pub use bound::{Bound, Resource};
pub use choice::{PathError, PathSubject, PathWindow};
pub use off_path::OffPathRow;
pub use piece::{Piece, PieceKind};
pub use report::{CriticalPath, PathOptions, path};
pub use totals::{CategoryTime, KindTime, LayerPathTime, PathRow, PathTotals, StepsRow};
pub use what_if::{MedianChange, Prediction, WhatIf};

use crate::figures::layer_search::LAYER_ARG;
use ferrum_trace_model::vocab::device::CLOCK_ERROR_NS;

/// Arguments that describe dependencies. They must be loaded with the trace, together with
/// [`STEP_ARGS`](crate::STEP_ARGS).
pub const PATH_ARGS: [&str; 8] = [
    syncs::SYNC_ARGS[0],
    syncs::SYNC_ARGS[1],
    collectives::COLLECTIVE_ARGS[0],
    collectives::COLLECTIVE_ARGS[1],
    collectives::COLLECTIVE_ARGS[2],
    collectives::COLLECTIVE_ARGS[3],
    LAYER_ARG,
    CLOCK_ERROR_NS,
];

#[cfg(test)]
mod tests;
