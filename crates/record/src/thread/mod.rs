//! The data of one thread: its buffer, arguments, call sites and names.

pub(crate) mod arg;
pub(crate) mod buffer;
pub(crate) mod interrupted;
pub(crate) mod names;
pub(crate) mod site;
