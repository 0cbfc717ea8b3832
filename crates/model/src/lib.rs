//! What a trace is, whatever file it came from. So far: the values of arguments.
//!
//! This crate knows nothing of files, clocks, threads, the environment, or how any format spells these things.

mod value;

pub use value::Value;
