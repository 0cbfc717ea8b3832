//! Shared by the child program and the tests: the texts and programs that one records and the other expects, the child
//! process, and a strict reader of the trace.

pub mod child;
pub mod mount;
pub mod nesting;
pub mod program;
pub mod texts;
pub mod trace;
