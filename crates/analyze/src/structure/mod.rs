//! Structure of a trace: nesting of slices, lanes, pairs of async events, gaps, and selections of events.

pub(crate) mod ancestors;
pub(crate) mod arg_filter;
pub(crate) mod arg_reader;
pub(crate) mod async_ops;
mod async_select;
pub(crate) mod both;
pub(crate) mod by_arg;
pub(crate) mod flow_key;
pub(crate) mod gaps;
pub(crate) mod glob;
pub(crate) mod nesting;
pub(crate) mod nesting_lanes;
pub(crate) mod no_match;
pub(crate) mod select;
pub(crate) mod share_out;
mod similar;
