//! Fixtures for the tests of ferrum-trace: child processes, scratch folders, strict reading of what was written.

pub mod process;
pub mod trace_file;
