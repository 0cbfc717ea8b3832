//! Perfetto traces: a file is a list of protobuf packets, one per event.
//!
//! - [`mod@write`]: an [`Encoder`](write::Encoder) that writes packets;
//! - `read` (feature `read`): converts a file of any producer of track events to Chrome trace events.
//!
//! Both use the numbers in `field` without a protobuf library: a written packet is a dozen bytes, and most of the
//! format's thousand messages are not read.

#[cfg_attr(not(feature = "read"), expect(dead_code, reason = "some of it is for readers only"))]
mod field;
#[cfg(feature = "read")]
pub mod read;
#[cfg_attr(not(feature = "read"), expect(dead_code, reason = "some of it is for readers only"))]
mod wire;
pub mod write;
