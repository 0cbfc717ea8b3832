//! Counts of the packets and events of a file.

use crate::chrome::read::{Loss, Losses};
use std::collections::BTreeMap;

/// Maximum number of distinct kinds of packets that are counted separately.
const KINDS_MAX: usize = 256;

/// Counts of the packets and events of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Packets, including those inside compressed packets.
    pub n_packets: u64,
    /// PieceOutput events, without the names of threads and processes.
    pub n_events: u64,
    /// Packets without any field that is read, by the number of their field in `TracePacket`; zero for empty packets.
    pub skipped: BTreeMap<u32, u64>,
    /// Events that refer to lost definitions and cannot be converted.
    pub n_without_state: u64,
    /// Events whose clock was never compared with the clock of the trace; their times are unchanged.
    pub n_unknown_clock: u64,
    /// Definitions of names for which there was no room.
    pub n_undefined: u64,
    /// The parts that could not be read.
    pub losses: Losses,
}

impl Summary {
    pub(crate) fn count_skipped(&mut self, field: u32) {
        if self.skipped.len() < KINDS_MAX || self.skipped.contains_key(&field) {
            *self.skipped.entry(field).or_default() += 1;
        }
    }

    pub(crate) fn add_loss(&mut self, offset: u64, n_bytes: u64, reason: impl Into<String>) {
        self.losses.push(Loss { offset, n_bytes, reason: reason.into() });
    }
}
