//! What a sequence of packets has said so far.

use super::interned::Interned;
use super::tracks::ThreadId;
use crate::perfetto::field::{defaults, event_defaults};
use crate::perfetto::wire::{Broken, Fields};

/// The state of one sequence.
#[derive(Debug, Default)]
pub struct Sequence {
    /// Whether all that later packets refer to is known.
    pub is_complete: bool,
    pub interned: Interned,
    /// The clock of packets that do not name one.
    pub default_clock: Option<u64>,
    /// The track of events that do not name one.
    pub default_track: Option<u64>,
    /// The thread that an old producer's sequence is of.
    pub thread: Option<ThreadId>,
    /// The time that old producers count from, in microseconds.
    pub reference_us: i64,
}

impl Sequence {
    /// Forgets all definitions; from here on everything is said again.
    pub fn clear(&mut self) {
        let Self { thread, reference_us, .. } = *self;
        *self = Self { is_complete: true, thread, reference_us, ..Self::default() };
    }

    /// Reads a `TracePacketDefaults`.
    pub fn set_defaults(&mut self, data: &[u8]) -> Result<(), Broken> {
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
