//! Fixtures for the tests of ferrum-trace: child processes, a strict reader of traces, and generated traces that are
//! expensive to read.

mod nesting;
pub mod process;
pub mod shapes;
pub mod strict_trace;
pub mod trace_file;
