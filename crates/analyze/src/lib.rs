//! What a trace says.
//!
//! Functions from a [`Trace`](ferrum_trace_model::Trace), or from a stream of events, to figures. This crate prints nothing
//! and opens no file.

mod placement;

pub use placement::{Lanes, Placement};
