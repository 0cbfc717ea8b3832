//! Perfetto traces: a file is a list of protobuf packets, one an event.
//!
//! - [`mod@write`]: an [`Encoder`](write::Encoder) that spells events straight into bytes;
//! - `read` (feature `read`): from such a file, ours or that of any other producer of track events, to Chrome trace events.
//!
//! Both are written against the numbers in `field`, without a protobuf library: on the way out a packet is a dozen bytes,
//! and on the way in most of the format's thousand messages are of no interest.

#[cfg_attr(not(feature = "read"), expect(dead_code, reason = "some of it is for readers only"))]
mod field;
#[cfg(feature = "read")]
pub mod read;
#[cfg_attr(not(feature = "read"), expect(dead_code, reason = "some of it is for readers only"))]
mod wire;
pub mod write;
