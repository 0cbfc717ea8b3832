//! Names made at run time, and their numbers in one spool.

use crate::thread::buffer::Held;
use ferrum_trace_format::spool::record::SITE_MAX;
use std::cell::Cell;

/// Number of such names that a spool defines; further names are defined in chunks of events of a ring, or otherwise
/// written with each event.
const NAMES_MAX: usize = 1 << 16;
/// Precedes each argument key that is appended to a category, for events with arguments whose names are made at run
/// time. No category contains it by chance.
pub(crate) const KEY_SEPARATOR: &str = "\u{1f}\u{1e}\u{1f}";
/// Total bytes of these names. It is limited because the writer of the file keeps several copies of them, some escaped.
const NAME_BYTES_MAX: usize = 1 << 20;
/// Twice the number of names, so that collisions are rare.
const SLOTS: usize = 2 * NAMES_MAX;
/// Names that each thread caches, so that it seldom needs the spool's table.
const CACHE_ENTRIES: usize = 64;
/// Bytes of name and category in a cache entry, which makes the entry 64 bytes.
const ENTRY_BYTES: usize = 50;

/// The names of one spool. All memory is reserved at the start (the system provides each page at its first use): a
/// signal handler that records a new name may have interrupted the allocator.
#[derive(Debug)]
pub(crate) struct NameTable {
    /// Each name followed by its category.
    text: Vec<u8>,
    names: Vec<Name>,
    /// By hash: positions in `names`, counted from one; zero is free.
    slots: Box<[u32]>,
}

#[derive(Clone, Copy, Debug)]
struct Name {
    start: u32,
    name_len: u32,
    category_len: u32,
    slot: u32,
}

impl Default for NameTable {
    fn default() -> Self {
        Self {
            text: Vec::with_capacity(NAME_BYTES_MAX),
            names: Vec::with_capacity(NAMES_MAX),
            slots: vec![0; SLOTS].into(),
        }
    }
}

/// The result of looking up a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// The name has this number.
    Known(u32),
    /// The name was added with this number and must be defined.
    New(u32),
    /// The table is full.
    Full,
}

impl NameTable {
    /// Looks up a name in a category, and adds it if it is new. Numbers are odd: even numbers are those of call sites.
    pub(crate) fn look_up(&mut self, name: &str, category: &str) -> Lookup {
        let mut slot = hash(name, category) as usize % SLOTS;
        while self.slots[slot] != 0 {
            let n = self.slots[slot];
            if self.is(self.names[n as usize - 1], name, category) {
                return Lookup::Known(id_of(n));
            }
            // Ends, since at most half of the slots are used.
            slot = (slot + 1) % SLOTS;
        }
        let n_bytes = name.len() + category.len();
        if self.names.len() >= NAMES_MAX || self.text.len() + n_bytes > NAME_BYTES_MAX {
            return Lookup::Full;
        }
        let [start, name_len, category_len] = [self.text.len(), name.len(), category.len()].map(|n| n as u32);
        self.text.extend_from_slice(name.as_bytes());
        self.text.extend_from_slice(category.as_bytes());
        self.names.push(Name { start, name_len, category_len, slot: slot as u32 });
        let n = self.names.len() as u32;
        self.slots[slot] = n;
        Lookup::New(id_of(n))
    }

    /// Adds all names to an empty table, under the same numbers. Calls `define` for each; stops if it returns `None`.
    pub(crate) fn copy_to(
        &self,
        other: &mut Self,
        mut define: impl FnMut(u32, &str, &str) -> Option<()>,
    ) -> Option<()> {
        for (n, known) in self.names.iter().enumerate() {
            let text = self.text.get(known.start as usize..)?;
            let (name, rest) = text.split_at_checked(known.name_len as usize)?;
            let category = rest.get(..known.category_len as usize)?;
            // Both were valid UTF-8 when they were added.
            let (name, category) = (std::str::from_utf8(name).ok()?, std::str::from_utf8(category).ok()?);
            let Lookup::New(id) = other.look_up(name, category) else {
                return None;
            };
            debug_assert_eq!(id, id_of(n as u32 + 1));
            define(id, name, category)?;
        }
        Some(())
    }

    fn is(&self, known: Name, name: &str, category: &str) -> bool {
        let (start, name_len) = (known.start as usize, known.name_len as usize);
        let (name_end, end) = (start + name_len, start + name_len + known.category_len as usize);
        self.text[start..name_end] == *name.as_bytes() && self.text[name_end..end] == *category.as_bytes()
    }

    /// Removes the name that was added last, since it could not be defined.
    pub(crate) fn forget_last(&mut self) {
        if let Some(last) = self.names.pop() {
            self.text.truncate(last.start as usize);
            // No other name has been placed behind this slot since.
            self.slots[last.slot as usize] = 0;
        }
    }
}

fn id_of(n: u32) -> u32 {
    2 * n + 1
}

fn hash(name: &str, category: &str) -> u64 {
    let bytes = name.bytes().chain([0xff]).chain(category.bytes());
    let mixed = bytes
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    mixed >> 20
}

/// Returns the texts of the definition of a name: the name, its category, and the argument keys that are appended to
/// the category.
pub(crate) fn texts_of<'a>(name: &'a str, category: &'a str) -> impl Iterator<Item = &'a str> + Clone {
    std::iter::once(name).chain(category.split(KEY_SEPARATOR))
}

/// A name that the thread has used before.
#[derive(Clone, Copy)]
struct Entry {
    /// The session, or [`in_chunk`] of it.
    session: u64,
    id: u32,
    name_len: u8,
    category_len: u8,
    /// The name, then the category.
    text: [u8; ENTRY_BYTES],
}

const NO_ENTRY: Entry = Entry { session: 0, id: 0, name_len: 0, category_len: 0, text: [0; ENTRY_BYTES] };

thread_local! {
    /// Needs no allocation and no destructor. Used only while the thread's buffer is held, so that no signal handler
    /// sees an entry that is partly written.
    static CACHE: [Cell<Entry>; CACHE_ENTRIES] = const { [const { Cell::new(NO_ENTRY) }; CACHE_ENTRIES] };
    /// Number of chunks that the thread has taken: names that are defined in a chunk are known only there.
    static CHUNKS: Cell<u32> = const { Cell::new(0) };
    /// The number of the next name that is defined in a chunk.
    static NEXT_IN_CHUNK: Cell<u32> = const { Cell::new(FIRST_IN_CHUNK) };
}

/// The first number of a name that is defined in a chunk: above those of all names in the table, and odd.
const FIRST_IN_CHUNK: u32 = 2 * NAMES_MAX as u32 + 3;

/// Returns a number for a name that the thread defines in its chunk. After eight million names, the numbers begin
/// again; readers find the right name by its thread and time.
pub(crate) fn number_in_chunk(_held: &Held<'_>) -> u32 {
    let id = NEXT_IN_CHUNK.get();
    NEXT_IN_CHUNK.set(if id + 2 <= SITE_MAX { id + 2 } else { FIRST_IN_CHUNK });
    id
}

/// Forgets the names that are defined in the thread's chunk, since it takes another one.
pub(crate) fn enter_chunk(_held: &Held<'_>) {
    CHUNKS.set(CHUNKS.get().wrapping_add(1));
}

/// Returns the value for [`Entry::session`] of names that are defined in the thread's chunk. Sessions are few.
#[inline]
fn in_chunk(session: u64) -> u64 {
    1 << 63 | u64::from(CHUNKS.get()) << 31 | session
}

/// Returns the number of a name that this thread has used before in the same session.
#[inline]
pub(crate) fn recall(_held: &Held<'_>, session: u64, name: &str, category: &str) -> Option<u32> {
    let entry = CACHE.with(|cache| cache[slot_of(name, category)].get());
    let is_known = entry.session == session || entry.session == in_chunk(session);
    (is_known && entry.is(name, category)).then_some(entry.id)
}

/// Adds a name that is defined in the thread's chunk to the thread's cache, if it is not too long.
pub(crate) fn remember_in_chunk(held: &Held<'_>, session: u64, name: &str, category: &str, id: u32) {
    remember(held, in_chunk(session), name, category, id);
}

/// Adds a name to the thread's cache, if it is not too long.
pub(crate) fn remember(_held: &Held<'_>, session: u64, name: &str, category: &str, id: u32) {
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
    fn is(&self, name: &str, category: &str) -> bool {
        let (name_len, category_len) = (usize::from(self.name_len), usize::from(self.category_len));
        name_len == name.len()
            && category_len == category.len()
            && self.text[..name_len] == *name.as_bytes()
            && self.text[name_len..name_len + category_len] == *category.as_bytes()
    }
}

/// Returns the entry for a name. The upper bits of the product depend on all characters, also on the last ones, in
/// which names such as `layer 1` and `layer 2` differ.
#[inline]
fn slot_of(name: &str, category: &str) -> usize {
    let mixed = ends(name.as_bytes()) ^ ends(category.as_bytes()).rotate_left(23);
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - CACHE_ENTRIES.ilog2())) as usize
}

/// Combines the first bytes, the last bytes and the length of a text in one word.
#[inline]
fn ends(text: &[u8]) -> u64 {
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
    fn a_name_has_one_number_and_the_table_is_limited() {
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
    fn a_name_that_could_not_be_defined_is_removed() {
        let mut table = NameTable::default();
        assert_eq!(table.look_up("a", "x"), Lookup::New(3));
        assert_eq!(table.look_up("b", "x"), Lookup::New(5));
        table.forget_last();
        assert_eq!(table.look_up("b", "y"), Lookup::New(5));
        assert_eq!(table.look_up("b", "x"), Lookup::New(7));
        assert_eq!(table.look_up("a", "x"), Lookup::Known(3));
    }

    #[test]
    fn names_that_differ_in_one_character_seldom_share_a_slot() {
        for form in ["#", "l #", "late #", "layer #", "transformer layer #", "# of many layers"] {
            let slots = ('a'..='h').map(|last| slot_of(&form.replace('#', &last.to_string()), "dynamic"));
            let n_distinct = slots.collect::<std::collections::BTreeSet<_>>().len();
            assert!(n_distinct >= 5, "{form}: {n_distinct} slots for 8 names");
        }
    }

    #[test]
    fn names_that_share_a_slot_are_not_mixed_up() {
        let held = crate::thread::buffer::current().hold().unwrap();
        for (n, name) in (0..2000).map(|n| (n, format!("name {n}"))) {
            assert_eq!(recall(&held, 1, &name, "c"), None);
            remember(&held, 1, &name, "c", n);
            assert_eq!(recall(&held, 1, &name, "c"), Some(n));
            assert_eq!(recall(&held, 2, &name, "c"), None);
            assert_eq!(recall(&held, 1, &name, ""), None);
        }
    }

    #[test]
    fn a_name_in_a_chunk_is_known_until_the_next_chunk() {
        let held = crate::thread::buffer::current().hold().unwrap();
        remember(&held, 5, "everywhere", "c", 3);
        remember_in_chunk(&held, 5, "here", "c", 7);
        let recalled = |session| ["everywhere", "here"].map(|name| recall(&held, session, name, "c"));
        assert_eq!(recalled(5), [Some(3), Some(7)]);
        assert_eq!(recalled(6), [None, None]);
        enter_chunk(&held);
        assert_eq!(recalled(5), [Some(3), None]);
    }

    #[test]
    fn numbers_of_names_in_chunks_are_those_of_no_other_site_and_begin_again() {
        let held = crate::thread::buffer::current().hold().unwrap();
        let first = number_in_chunk(&held);
        assert!(first > id_of(NAMES_MAX as u32) && first % 2 == 1);
        NEXT_IN_CHUNK.set(SITE_MAX);
        assert_eq!([number_in_chunk(&held), number_in_chunk(&held)], [SITE_MAX, FIRST_IN_CHUNK]);
    }

    #[test]
    fn a_name_that_is_too_long_is_not_remembered() {
        let held = crate::thread::buffer::current().hold().unwrap();
        let name = "n".repeat(ENTRY_BYTES);
        remember(&held, 1, &name, "", 7);
        assert_eq!(recall(&held, 1, &name, ""), Some(7));
        remember(&held, 1, &name, "x", 8);
        assert_eq!(recall(&held, 1, &name, "x"), None);
    }
}
