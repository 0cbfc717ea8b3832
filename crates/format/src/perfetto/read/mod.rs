//! Reading Perfetto traces: from track events to Chrome trace events.
//!
//! Read are track events and the descriptors, interned data, defaults and clocks that they refer to, of any number of
//! sequences; the events of Chrome's own format inside of them (`legacy_event`); and compressed packets. All else that
//! Perfetto records (the kernel's scheduler, heaps, logs, …) is counted and passed over.

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

/// The largest packet that is read.
pub const PACKET_BYTES_MAX: usize = 64 << 20;
