//! Wrappers of the operating system: file identity and interruption.

pub(crate) mod file_id;
pub(crate) mod interrupt;
