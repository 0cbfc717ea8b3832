//! What goes on from one file of a recording to the next: there it is begun again, which is not to be seen in the merged trace.

use ferrum_trace_format::chrome::read::{Event, Scalar};
use hashbrown::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// What is open in a recording.
#[derive(Debug, Default)]
pub struct Edges {
    /// Begins less ends, where they differ: what ends on another thread may stand before its begin in a file.
    open: HashMap<u64, i64>,
    /// What was open at the end of the file before, and has not been seen since.
    from_before: HashSet<u64>,
}

impl Edges {
    /// The next file begins.
    pub fn next_file(&mut self) {
        self.open.retain(|_, n_open| *n_open > 0);
        self.from_before = self.open.keys().copied().collect();
    }

    /// Whether an event begins what is begun already.
    pub fn is_begun_again(&mut self, event: &Event<'_>) -> bool {
        let is_begin = match event.phase {
            b'b' => true,
            b'e' => false,
            _ => return false,
        };
        let thing = thing_of(event);
        if self.from_before.remove(&thing) && is_begin {
            return true;
        }
        let n_open = self.open.entry(thing).or_default();
        *n_open += if is_begin { 1 } else { -1 };
        if *n_open == 0 {
            self.open.remove(&thing);
        }
        false
    }
}

fn thing_of(event: &Event<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for text in [event.category, event.name, event.pid] {
        text.as_ref().map(Scalar::decode).hash(&mut hasher);
    }
    event.async_id().hash(&mut hasher);
    hasher.finish()
}
