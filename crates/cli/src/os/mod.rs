//! Wrappers of the operating system: file identity, permissions and interruption.

pub(crate) mod file_id;
pub(crate) mod interrupt;
pub(crate) mod permissions;
