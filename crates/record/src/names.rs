//! Names made at run time, and the numbers they have in one spool.

use crate::buffer::Held;
use std::cell::Cell;
use std::collections::HashMap;

/// How many such names a spool defines; further ones are written with each event instead.
const NAMES_MAX: usize = 1 << 16;
/// How many bytes they may have: the writer of the file keeps them some times over, with all that must be escaped.
const NAME_BYTES_MAX: usize = 1 << 20;
/// Names each thread remembers, so that it need not ask for the spool's table.
const CACHE_ENTRIES: usize = 64;
/// Bytes of name and category that such a memory has room for: what makes it 64 in all.
const ENTRY_BYTES: usize = 50;

/// The names of one spool.
#[derive(Debug, Default)]
pub struct NameTable {
    ids: HashMap<Box<str>, HashMap<Box<str>, u32>>,
    n_names: usize,
    n_bytes: usize,
}

/// What the table says of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// It has this number.
    Known(u32),
    /// It has just got this number and must be defined.
    New(u32),
    /// The table is full.
    Full,
}

impl NameTable {
    /// The number of a name in a category. Numbers are odd: the even ones are of call sites.
    pub fn look_up(&mut self, name: &str, category: &str) -> Lookup {
        if let Some(&id) = self.ids.get(category).and_then(|names| names.get(name)) {
            return Lookup::Known(id);
        }
        let n_bytes = name.len() + category.len();
        if self.n_names >= NAMES_MAX || self.n_bytes + n_bytes > NAME_BYTES_MAX {
            return Lookup::Full;
        }
        self.n_names += 1;
        self.n_bytes += n_bytes;
        let id = 2 * self.n_names as u32 + 1;
        self.ids.entry(category.into()).or_default().insert(name.into(), id);
        Lookup::New(id)
    }

    /// Takes back a name that could not be defined. Its number is not used again.
    pub fn forget(&mut self, name: &str, category: &str) {
        if let Some(names) = self.ids.get_mut(category) {
            names.remove(name);
        }
    }
}

/// A name that a thread has used before.
#[derive(Clone, Copy)]
struct Entry {
    session: u64,
    id: u32,
    name_len: u8,
    category_len: u8,
    /// The name, then the category.
    text: [u8; ENTRY_BYTES],
}

const NO_ENTRY: Entry = Entry { session: 0, id: 0, name_len: 0, category_len: 0, text: [0; ENTRY_BYTES] };

thread_local! {
    /// Nothing to allocate and nothing to drop. Used only while the thread's buffer is held, so that no signal handler
    /// sees an entry half written.
    static CACHE: [Cell<Entry>; CACHE_ENTRIES] = const { [const { Cell::new(NO_ENTRY) }; CACHE_ENTRIES] };
}

/// The number of a name that this thread has used before in the same session.
#[inline]
pub fn recall(_held: &Held<'_>, session: u64, name: &str, category: &str) -> Option<u32> {
    let entry = CACHE.with(|cache| cache[slot_of(name, category)].get());
    entry.is(session, name, category).then_some(entry.id)
}

/// Has the thread remember a number, if the name is not too long.
pub fn remember(_held: &Held<'_>, session: u64, name: &str, category: &str, id: u32) {
    let mut entry = NO_ENTRY;
    let (name_len, len) = (name.len(), name.len() + category.len());
    if len > ENTRY_BYTES {
        return;
    }
    entry.text[..name_len].copy_from_slice(name.as_bytes());
    entry.text[name_len..len].copy_from_slice(category.as_bytes());
    (entry.name_len, entry.category_len) = (name_len as u8, category.len() as u8);
    (entry.session, entry.id) = (session, id);
    CACHE.with(|cache| cache[slot_of(name, category)].set(entry));
}

impl Entry {
    #[inline]
    fn is(&self, session: u64, name: &str, category: &str) -> bool {
        let (name_len, category_len) = (usize::from(self.name_len), usize::from(self.category_len));
        self.session == session
            && name_len == name.len()
            && category_len == category.len()
            && self.text[..name_len] == *name.as_bytes()
            && self.text[name_len..name_len + category_len] == *category.as_bytes()
    }
}

/// Any spread will do: a collision costs a look into the table, nothing else.
#[inline]
fn slot_of(name: &str, category: &str) -> usize {
    let mixed = edges(name.as_bytes()) ^ edges(category.as_bytes()).rotate_left(23);
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % CACHE_ENTRIES
}

/// The first and the last bytes of a text and its length, in one word.
#[inline]
fn edges(text: &[u8]) -> u64 {
    let len = text.len() as u64;
    if let (Some(first), Some(last)) = (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        return u64::from_le_bytes(*first) ^ u64::from_le_bytes(*last).rotate_left(9) ^ len;
    }
    if let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        return u64::from(u32::from_le_bytes(*first)) ^ u64::from(u32::from_le_bytes(*last)) << 32 ^ len;
    }
    text.iter().fold(len, |word, &byte| word << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_number_and_the_table_has_an_end() {
        let mut table = NameTable::default();
        assert_eq!(table.look_up("a", "x"), Lookup::New(3));
        assert_eq!(table.look_up("a", "y"), Lookup::New(5));
        assert_eq!(table.look_up("a", "x"), Lookup::Known(3));
        for n in 0..NAMES_MAX {
            table.look_up(&n.to_string(), "");
        }
        assert_eq!(table.look_up("one too many", ""), Lookup::Full);
        assert_eq!(table.look_up("a", "y"), Lookup::Known(5));
    }

    #[test]
    fn names_that_share_a_slot_are_not_mixed_up() {
        let held = crate::buffer::current().hold().unwrap();
        for (n, name) in (0..2000).map(|n| (n, format!("name {n}"))) {
            assert_eq!(recall(&held, 1, &name, "c"), None);
            remember(&held, 1, &name, "c", n);
            assert_eq!(recall(&held, 1, &name, "c"), Some(n));
            assert_eq!(recall(&held, 2, &name, "c"), None);
            assert_eq!(recall(&held, 1, &name, ""), None);
        }
    }

    #[test]
    fn a_name_that_is_too_long_is_not_remembered() {
        let held = crate::buffer::current().hold().unwrap();
        let name = "n".repeat(ENTRY_BYTES);
        remember(&held, 1, &name, "", 7);
        assert_eq!(recall(&held, 1, &name, ""), Some(7));
        remember(&held, 1, &name, "x", 8);
        assert_eq!(recall(&held, 1, &name, "x"), None);
    }
}
