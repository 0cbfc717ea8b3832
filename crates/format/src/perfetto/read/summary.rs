//! What became of a file.

use crate::chrome::read::{Loss, Losses};
use std::collections::BTreeMap;

/// How many different kinds of packets are told apart.
const KINDS_MAX: usize = 256;

/// What a file held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Packets, those inside of compressed ones among them.
    pub n_packets: u64,
    /// Events that were written, names of threads and processes not counted.
    pub n_events: u64,
    /// Packets that hold nothing that is read, by the number of their field in `TracePacket`; zero if they are empty.
    pub passed_over: BTreeMap<u32, u64>,
    /// Events that refer to what was lost before them, and cannot be understood.
    pub n_without_state: u64,
    /// Events whose clock was never compared with that of the trace: their times are as they stand.
    pub n_unknown_clock: u64,
    /// Definitions of names that found no room.
    pub n_undefined: u64,
    /// What could not be read.
    pub losses: Losses,
}

impl Summary {
    pub(super) fn pass_over(&mut self, field: u32) {
        if self.passed_over.len() < KINDS_MAX || self.passed_over.contains_key(&field) {
            *self.passed_over.entry(field).or_default() += 1;
        }
    }

    pub(super) fn lose(&mut self, offset: u64, n_bytes: u64, reason: impl Into<String>) {
        self.losses.push(Loss { offset, n_bytes, reason: reason.into() });
    }
}
