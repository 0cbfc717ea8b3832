//! Fixtures for the tests of ferrum-trace: child processes, a strict reader of traces, and generated traces that are
//! expensive to read.

pub mod process;
pub mod shapes;
pub mod trace_file;
