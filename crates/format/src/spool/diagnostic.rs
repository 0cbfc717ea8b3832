//! Damage in a spool that was skipped.

use super::record::HEADER_BYTES;
use std::fmt;

/// One damaged place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Byte offset in the spool.
    pub offset: u64,
    /// The damage, and the part that was skipped.
    pub message: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.offset, self.message)
    }
}

/// Maximum number of diagnostics that are kept for one spool; further ones are only counted.
const DIAGNOSTICS_MAX: usize = 1000;

/// All damage of a spool: the first places in detail, the others counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Damage {
    pub kept: Vec<Diagnostic>,
    pub n_all: u64,
    /// Upper bound for the number of events that are missing because of it.
    pub n_missing_max: u64,
}

/// Upper bound for the number of events in `n_bytes` of a chunk.
pub(crate) fn events_max(n_bytes: usize) -> u64 {
    n_bytes.div_ceil(HEADER_BYTES) as u64
}

impl Damage {
    pub(crate) fn add(&mut self, offset: u64, message: impl Into<String>) {
        self.n_all += 1;
        if self.kept.len() < DIAGNOSTICS_MAX {
            let message = message.into();
            self.kept.push(Diagnostic { offset, message });
        }
    }

    /// Adds a place where up to `n_events` events are missing.
    pub(crate) fn add_missing(&mut self, offset: u64, n_events: u64, message: impl Into<String>) {
        self.n_missing_max = self.n_missing_max.saturating_add(n_events);
        self.add(offset, message);
    }

    /// Returns true if damage at this offset is listed.
    pub(crate) fn is_known(&self, offset: u64) -> bool {
        self.kept.iter().any(|known| known.offset == offset)
    }

    pub(crate) fn merge(&mut self, other: Self) {
        let room = DIAGNOSTICS_MAX.saturating_sub(self.kept.len());
        self.kept.extend(other.kept.into_iter().take(room));
        self.n_all += other.n_all;
        self.n_missing_max = self.n_missing_max.saturating_add(other.n_missing_max);
    }
}
