//! Kernels of replayed graphs, named by a trace of the graph's capture.
//!
//! A trace of a capture has the calls that became the nodes of a graph, with the operations, modules and layers around
//! them. A trace of replays has one launch per graph, and its kernels. Both have the same order, and mostly the same
//! kernel names, so that nodes and kernels can be aligned.

mod align;
mod graph;
mod matching;
mod operations;
mod replays;
mod transfer;

pub use graph::{CAPTURE_ARGS, CapturedGraph, CapturedNode, NodeKind, captured_graphs};
pub use operations::ReplayedOperations;
pub use transfer::{MODULE_ARG, Mismatch, OPERATION_ARG, SHAPES_ARG, Transfer, transfer, transfer_operations};
