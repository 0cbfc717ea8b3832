//! What goes on from one file of a recording to the next: there it is begun again, which is not to be seen in the merged trace.

use ferrum_trace_format::chrome::read::{Event, Scalar};
use hashbrown::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// What is open in a recording. Takes 8 bytes of memory each.
#[derive(Debug, Default)]
pub struct Edges {
    open: HashSet<u64>,
    /// What was open at the end of the file before, and has not been seen since.
    from_before: HashSet<u64>,
}

impl Edges {
    /// The next file begins.
    pub fn next_file(&mut self) {
        self.from_before = self.open.clone();
    }

    /// Whether an event begins what is begun already.
    pub fn is_begun_again(&mut self, event: &Event<'_>) -> bool {
        let is_begin = match event.phase {
            b'b' => true,
            b'e' => false,
            _ => return false,
        };
        let thing = thing_of(event);
        let goes_on = self.from_before.remove(&thing);
        if is_begin {
            self.open.insert(thing);
        } else {
            self.open.remove(&thing);
        }
        goes_on && is_begin
    }
}

fn thing_of(event: &Event<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for text in [event.category, event.name, event.id] {
        text.as_ref().map(Scalar::decode).hash(&mut hasher);
    }
    hasher.finish()
}
