//! Start, rotation, control and end of recordings.

pub(crate) mod control;
pub(crate) mod end;
pub(crate) mod environment;
pub(crate) mod fork_and_exit;
pub(crate) mod rotate;
pub(crate) mod start;
pub(crate) mod unwritten;
