//! Perfetto traces: a file is a list of protobuf packets, one an event.
//!
//! - [`mod@write`]: an [`Encoder`](write::Encoder) that spells events straight into bytes;
//! - [`mod@read`]: from such a file, ours or that of any other producer of track events, to Chrome trace events.
//!
//! Both are written against the numbers in `field`, without a protobuf library: on the way out a packet is a dozen bytes,
//! and on the way in most of the format's thousand messages are of no interest.

mod field;
pub mod read;
mod wire;
pub mod write;
