//! Reads Perfetto traces: converts track events to Chrome trace events.
//!
//! It reads track events with the descriptors, interned data, defaults and clocks that they refer to, of any number of
//! sequences; legacy events of Chrome's format inside them (`legacy_event`); and compressed packets. Everything else
//! that Perfetto records (the kernel's scheduler, heaps, logs, …) is counted and skipped.

mod annotation;
mod clocks;
mod converter;
mod counters;
mod detect;
mod event;
mod interned;
mod json_line;
mod open_slices;
mod packet;
mod packets;
mod sequence;
mod summary;
#[cfg(test)]
mod tests;
mod tracks;

pub use converter::to_chrome;
pub use detect::is_pftrace;
pub use summary::Summary;

/// Maximum size of a packet.
pub const PACKET_BYTES_MAX: usize = 64 << 20;
