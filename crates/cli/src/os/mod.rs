//! Wrappers of the operating system: file identity and interruption.

pub mod file_id;
pub mod interrupt;
