//! The state of a sequence of packets.

use super::interned::Interned;
use super::tracks::ThreadId;
use crate::perfetto::field::{defaults, event_defaults};
use crate::perfetto::wire::{Broken, Fields};

/// The state of one sequence.
#[derive(Debug, Default)]
pub(crate) struct Sequence {
    /// True if no definition is missing.
    pub is_complete: bool,
    pub interned: Interned,
    /// The default clock of packets.
    pub default_clock: Option<u64>,
    /// The default track of events.
    pub default_track: Option<u64>,
    /// The thread of an old producer's sequence.
    pub thread: Option<ThreadId>,
    /// The reference time of old producers, in microseconds.
    pub reference_us: i64,
}

impl Sequence {
    /// Removes all definitions; the producer repeats them.
    pub(crate) fn clear(&mut self) {
        let Self { thread, reference_us, .. } = *self;
        *self = Self { is_complete: true, thread, reference_us, ..Self::default() };
    }

    /// Reads a `TracePacketDefaults`.
    pub(crate) fn set_defaults(&mut self, data: &[u8]) -> Result<(), Broken> {
        (self.default_clock, self.default_track) = (None, None);
        let mut fields = Fields::new(data);
        while let Some((field, payload)) = fields.next()? {
            match field {
                defaults::TIMESTAMP_CLOCK_ID => self.default_clock = Some(payload.number()),
                defaults::TRACK_EVENT => {
                    let mut fields = Fields::new(payload.bytes());
                    while let Some((field, payload)) = fields.next()? {
                        if field == event_defaults::TRACK_UUID {
                            self.default_track = Some(payload.number());
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}
