//! Fixtures for the tests of ferrum-trace: child processes, scratch folders, strict reading of what was written, traces of shapes
//! that are hard on readers.

pub mod process;
pub mod shapes;
pub mod trace_file;
