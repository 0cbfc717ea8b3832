//! Start, rotation and end of recordings.

pub(crate) mod config;
pub(crate) mod rotate;
