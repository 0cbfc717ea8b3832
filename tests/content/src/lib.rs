//! What the child program and the tests of this package share: the texts and programs that one records and the other
//! expects, the child itself, and the strict reading of the file that came out.

pub mod child;
pub mod mount;
pub mod nesting;
pub mod program;
pub mod texts;
pub mod trace;
