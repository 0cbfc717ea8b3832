//! Reads the fields of a packet.

use super::clocks::{ClockId, Reading};
use crate::perfetto::field::{clock, clock_snapshot, flags, packet};
use crate::perfetto::wire::{Broken, Fields};

/// The fields of a packet that are used.
#[derive(Debug, Default)]
pub(crate) struct Packet<'a> {
    pub timestamp: Option<u64>,
    pub clock: Option<u64>,
    pub sequence: u32,
    /// All definitions of the sequence become invalid.
    pub is_cleared: bool,
    /// The packet needs definitions.
    pub needs_state: bool,
    /// A packet before this one is missing.
    pub is_after_loss: bool,
    pub interned: Option<&'a [u8]>,
    pub defaults: Option<&'a [u8]>,
    pub clock_snapshot: Option<&'a [u8]>,
    pub track_descriptor: Option<&'a [u8]>,
    pub process_descriptor: Option<&'a [u8]>,
    pub thread_descriptor: Option<&'a [u8]>,
    pub event: Option<&'a [u8]>,
    pub compressed: Option<Compressed<'a>>,
    /// The number of the first field that is not read.
    pub other: Option<u32>,
}

/// Compressed packets inside a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Compressed<'a> {
    Deflate(&'a [u8]),
    Zstd(&'a [u8]),
}

impl<'a> Packet<'a> {
    pub(crate) fn read(data: &'a [u8]) -> Result<Self, Broken> {
        let mut it = Self::default();
        let mut fields = Fields::new(data);
        while let Some((field, payload)) = fields.next()? {
            match field {
                packet::TIMESTAMP => it.timestamp = Some(payload.number()),
                packet::TIMESTAMP_CLOCK_ID => it.clock = Some(payload.number()),
                packet::TRUSTED_SEQUENCE_ID => it.sequence = payload.number() as u32,
                packet::SEQUENCE_FLAGS => {
                    it.is_cleared |= payload.number() & flags::INCREMENTAL_STATE_CLEARED != 0;
                    it.needs_state |= payload.number() & flags::NEEDS_INCREMENTAL_STATE != 0;
                }
                packet::INCREMENTAL_STATE_CLEARED => it.is_cleared |= payload.number() != 0,
                packet::PREVIOUS_PACKET_DROPPED => it.is_after_loss = payload.number() != 0,
                packet::INTERNED_DATA => it.interned = Some(payload.bytes()),
                packet::DEFAULTS => it.defaults = Some(payload.bytes()),
                packet::CLOCK_SNAPSHOT => it.clock_snapshot = Some(payload.bytes()),
                packet::TRACK_DESCRIPTOR => it.track_descriptor = Some(payload.bytes()),
                packet::PROCESS_DESCRIPTOR => it.process_descriptor = Some(payload.bytes()),
                packet::THREAD_DESCRIPTOR => it.thread_descriptor = Some(payload.bytes()),
                packet::TRACK_EVENT => it.event = Some(payload.bytes()),
                packet::COMPRESSED_PACKETS => it.compressed = Some(Compressed::Deflate(payload.bytes())),
                packet::ZSTD_COMPRESSED_PACKETS => it.compressed = Some(Compressed::Zstd(payload.bytes())),
                packet::TRUSTED_UID | packet::TRUSTED_PID | packet::FIRST_ON_SEQUENCE => {}
                other => it.other = it.other.or(Some(other)),
            }
        }
        Ok(it)
    }

    /// Returns true if the packet has a field that is read.
    pub(crate) fn is_read(&self) -> bool {
        let parts = [
            self.interned,
            self.defaults,
            self.clock_snapshot,
            self.track_descriptor,
            self.process_descriptor,
            self.thread_descriptor,
            self.event,
        ];
        parts.iter().any(Option::is_some) || self.compressed.is_some()
    }
}

/// Maximum number of clocks of a snapshot that are read.
const READINGS_MAX: usize = 256;

/// Reads a `ClockSnapshot`: the clocks, and the clock of the trace if it is stated.
pub(crate) fn read_clock_snapshot(data: &[u8], sequence: u32) -> Result<(Vec<Reading>, Option<u64>), Broken> {
    let (mut readings, mut primary) = (Vec::new(), None);
    let mut fields = Fields::new(data);
    while let Some((field, payload)) = fields.next()? {
        match field {
            clock_snapshot::CLOCK if readings.len() < READINGS_MAX => {
                readings.push(read_clock(payload.bytes(), sequence)?);
            }
            clock_snapshot::PRIMARY => primary = Some(payload.number()),
            _ => {}
        }
    }
    Ok((readings, primary))
}

fn read_clock(data: &[u8], sequence: u32) -> Result<Reading, Broken> {
    let mut id = 0;
    let mut reading = Reading { clock: ClockId::new(sequence, 0), timestamp: 0, is_incremental: false, unit_ns: 1 };
    let mut fields = Fields::new(data);
    while let Some((field, payload)) = fields.next()? {
        match field {
            clock::ID => id = payload.number(),
            clock::TIMESTAMP => reading.timestamp = payload.number(),
            clock::IS_INCREMENTAL => reading.is_incremental = payload.number() != 0,
            clock::UNIT_MULTIPLIER_NS => reading.unit_ns = payload.number(),
            _ => {}
        }
    }
    reading.clock = ClockId::new(sequence, id);
    Ok(reading)
}
