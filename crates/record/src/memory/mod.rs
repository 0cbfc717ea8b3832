//! The spool file as shared memory: segments, chunks, the ring, and the stacks of open spans.

pub(crate) mod chunk;
pub(crate) mod open_slot;
pub(crate) mod open_stacks;
pub(crate) mod ring;
pub(crate) mod segment;
pub(crate) mod snapshot;
pub(crate) mod spool;
