//! The recording of this process, and how threads record to it.

pub(crate) mod attach;
pub(crate) mod categories;
pub(crate) mod event;
pub(crate) mod global;
pub(crate) mod switch;
