//! Shared by the child program and the tests: the texts and programs that one records and the other expects, and the
//! child process.

pub mod child;
pub mod mount;
pub mod program;
pub mod texts;
