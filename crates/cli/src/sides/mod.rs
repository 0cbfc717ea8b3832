//! Sides of a comparison: the traces that the user named, reduced to runs.

mod side;
mod trace_info;
mod traces;

pub(crate) use side::{Measuring, Side};
