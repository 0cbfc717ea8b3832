//! Texts that are defined once and then referred to by number.

use super::text::without_nul;
use crate::perfetto::field::interned;
use crate::perfetto::wire::{Push, varint_len};
use ferrum_trace_model::Strings;

/// Maximum size of the texts of one kind. Further texts are written inline.
const KEPT_BYTES_MAX: usize = 8 << 20;
/// Maximum number of texts of one kind: the table takes about 20 bytes for each.
const KEPT_MAX: usize = 1 << 18;

/// A text, or the number of an interned one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word<'a> {
    /// The number of an interned text.
    Interned(u64),
    /// The text itself.
    Inline(&'a str),
}

/// The interned texts of one kind.
#[derive(Debug)]
pub(crate) struct Interner {
    /// The field of `InternedData` that defines them.
    field: u32,
    strings: Strings,
    n_bytes: usize,
    /// True once the empty text is defined; it is in the table from the start.
    is_empty_defined: bool,
}

impl Interner {
    pub(crate) fn new(field: u32) -> Self {
        Self { field, strings: Strings::default(), n_bytes: 0, is_empty_defined: false }
    }

    /// Returns the number of a text; a new text is defined in `definitions`.
    #[inline]
    pub(crate) fn word<'a>(&mut self, text: &'a str, definitions: &mut Vec<u8>) -> Word<'a> {
        if self.is_full() {
            let known = self.strings.find(text).filter(|_| !text.is_empty() || self.is_empty_defined);
            return known.map_or(Word::Inline(text), |id| Word::Interned(u64::from(id.0) + 1));
        }
        let n_before = self.strings.len();
        // Numbers start at one: zero means none.
        let id = u64::from(self.strings.intern(text).0) + 1;
        let is_new_empty = text.is_empty() && !std::mem::replace(&mut self.is_empty_defined, true);
        if self.strings.len() > n_before || is_new_empty {
            self.define(id, text, definitions);
        }
        Word::Interned(id)
    }

    #[cold]
    fn define(&mut self, id: u64, text: &str, definitions: &mut Vec<u8>) {
        self.n_bytes += text.len();
        let text = &*without_nul(text);
        let len = 1 + varint_len(id) + 1 + varint_len(text.len() as u64) + text.len();
        definitions.push_varint(u64::from(self.field << 3 | 2));
        definitions.push_varint(len as u64);
        definitions.push_number(interned::IID, id);
        definitions.push_bytes(interned::TEXT, text.as_bytes());
    }

    fn is_full(&self) -> bool {
        self.n_bytes >= KEPT_BYTES_MAX || self.strings.len() >= KEPT_MAX
    }
}

/// Approximate memory of the texts seen once, so that texts that never repeat are not defined.
#[derive(Debug)]
pub(crate) struct SeenOnce {
    hashes: Vec<u64>,
}

const N_SEEN: usize = 1 << 14;

impl SeenOnce {
    pub(crate) fn new() -> Self {
        Self { hashes: vec![0; N_SEEN] }
    }

    /// Returns true if this hash is among the last ones, and adds it.
    pub(crate) fn is_again(&mut self, hash: u64) -> bool {
        let place = &mut self.hashes[hash as usize % N_SEEN];
        std::mem::replace(place, hash) == hash
    }
}
