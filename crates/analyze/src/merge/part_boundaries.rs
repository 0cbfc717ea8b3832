//! What goes on from one file of a recording to the next: there it is begun again, which is not to be seen in the merged trace.

use ferrum_trace_format::chrome::read::{Event, Scalar, for_each_member};
use ferrum_trace_model::vocab::UNCLOSED;
use hashbrown::HashMap;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// What is open in a recording.
#[derive(Debug, Default)]
pub(super) struct Edges {
    /// Begins less ends, where they differ: what ends on another thread may stand before its begin in a file.
    open: HashMap<u64, i64>,
    /// What was open at the end of the file before, how often, and has not been begun again.
    from_before: HashMap<u64, i64>,
    /// Ends that a file has only because it ends there, as they are to be written if no later file goes on.
    held: BTreeMap<u64, Vec<Vec<u8>>>,
}

/// What becomes of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is written.
    Stays,
    /// It begins what is begun already.
    Goes,
    /// It ends this thing where the file does, and is for [`Edges::hold`].
    Waits(u64),
}

impl Edges {
    /// The next file begins.
    pub(super) fn next_file(&mut self) {
        self.open.retain(|_, n_open| *n_open > 0);
        self.from_before = self.open.clone();
    }

    /// Returns true if an event is to be in the merged trace.
    pub(super) fn fate_of(&mut self, event: &Event<'_>) -> Fate {
        let is_begin = match event.phase {
            b'b' => true,
            b'e' => false,
            _ => return Fate::Stays,
        };
        let thing = thing_of(event);
        if !is_begin && is_unclosed(event) {
            return Fate::Waits(thing);
        }
        let n_before = self.from_before.get_mut(&thing).filter(|n_before| is_begin && **n_before > 0);
        if let Some(n_before) = n_before {
            *n_before -= 1;
            self.held.entry(thing).and_modify(|ends| drop(ends.pop()));
            return Fate::Goes;
        }
        let n_open = self.open.entry(thing).or_default();
        *n_open += if is_begin { 1 } else { -1 };
        if *n_open == 0 {
            self.open.remove(&thing);
        }
        Fate::Stays
    }

    /// Keeps an end until it is known whether a later file goes on.
    pub(super) fn hold(&mut self, thing: u64, end: Vec<u8>) {
        self.held.entry(thing).or_default().push(end);
    }

    /// After the last file: the ends of what none went on with.
    pub(super) fn into_ends(self) -> impl Iterator<Item = Vec<u8>> {
        self.held.into_values().flatten()
    }
}

fn is_unclosed(event: &Event<'_>) -> bool {
    let mut is_unclosed = false;
    for_each_member(event.args.unwrap_or_default(), |key, value| {
        is_unclosed |= *key.decode() == *UNCLOSED && &*value.decode() == "true";
    });
    is_unclosed
}

fn thing_of(event: &Event<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for text in [event.category, event.name, event.pid] {
        text.as_ref().map(Scalar::decode).hash(&mut hasher);
    }
    event.async_id().hash(&mut hasher);
    hasher.finish()
}
