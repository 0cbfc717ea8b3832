//! Async events that are open across a part boundary of a rotating recording.
//!
//! The recorder begins them again in the next part, and ends them at the end of each part with the argument `unclosed`.
//! In the merged trace they begin once and end once.

use ferrum_trace_format::chrome::read::{Event, Scalar, for_each_member};
use ferrum_trace_model::vocab::UNCLOSED;
use hashbrown::HashMap;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Open async events of a recording.
#[derive(Debug, Default)]
pub(super) struct PartBoundaries {
    /// Number of begins minus ends, where they differ. An end on another thread may precede its begin in a file.
    open: HashMap<u64, i64>,
    /// Number of events that were open at the end of the previous part and have not been begun again.
    from_previous: HashMap<u64, i64>,
    /// Synthetic ends at the end of a part, to be written if no later part continues the event.
    pending_ends: BTreeMap<u64, Vec<Vec<u8>>>,
}

/// Treatment of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Treatment {
    /// Write it.
    Write,
    /// Drop it: it repeats the begin of an open event.
    Drop,
    /// Pass it to [`PartBoundaries::keep_end`]: it is a synthetic end of this event.
    KeepEnd(u64),
}

impl PartBoundaries {
    /// Starts the next part.
    pub(super) fn next_part(&mut self) {
        self.open.retain(|_, n_open| *n_open > 0);
        self.from_previous = self.open.clone();
    }

    /// Decides about an event.
    pub(super) fn treatment_of(&mut self, event: &Event<'_>) -> Treatment {
        let is_begin = match event.phase {
            b'b' => true,
            b'e' => false,
            _ => return Treatment::Write,
        };
        let key = key_of(event);
        if !is_begin && is_unclosed(event) {
            return Treatment::KeepEnd(key);
        }
        let n_previous = self.from_previous.get_mut(&key).filter(|n_previous| is_begin && **n_previous > 0);
        if let Some(n_previous) = n_previous {
            *n_previous -= 1;
            self.pending_ends.entry(key).and_modify(|ends| drop(ends.pop()));
            return Treatment::Drop;
        }
        let n_open = self.open.entry(key).or_default();
        *n_open += if is_begin { 1 } else { -1 };
        if *n_open == 0 {
            self.open.remove(&key);
        }
        Treatment::Write
    }

    /// Stores a synthetic end until the last part.
    pub(super) fn keep_end(&mut self, key: u64, end: Vec<u8>) {
        self.pending_ends.entry(key).or_default().push(end);
    }

    /// Returns the ends of events that no later part continued. Call it after the last part.
    pub(super) fn into_ends(self) -> impl Iterator<Item = Vec<u8>> {
        self.pending_ends.into_values().flatten()
    }
}

fn is_unclosed(event: &Event<'_>) -> bool {
    let mut is_unclosed = false;
    for_each_member(event.args.unwrap_or_default(), |key, value| {
        is_unclosed |= *key.decode() == *UNCLOSED && &*value.decode() == "true";
    });
    is_unclosed
}

fn key_of(event: &Event<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for text in [event.category, event.name, event.pid] {
        text.as_ref().map(Scalar::decode).hash(&mut hasher);
    }
    event.async_id().hash(&mut hasher);
    hasher.finish()
}
