//! Names made at run time, and the numbers they have in one spool.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// How many such names a spool defines; further ones are written with each event instead.
const NAMES_MAX: usize = 1 << 16;
/// How many bytes they may take in memory.
const NAME_BYTES_MAX: usize = 16 << 20;
/// Names each thread remembers, so that it need not ask for the spool's table.
const CACHE_ENTRIES: usize = 256;

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
}

struct Entry {
    session: u64,
    name: Rc<str>,
    category: Rc<str>,
    id: u32,
}

thread_local! {
    static CACHE: RefCell<Vec<Option<Entry>>> = const { RefCell::new(Vec::new()) };
}

/// The number of a name that this thread has used before in the same session, or else what `ask` says, to be remembered
/// if it is a number. The thread's memory may be gone or in use (the end of the thread, a signal handler): then `ask` is
/// all there is.
pub fn cached(session: u64, name: &str, category: &str, ask: impl Fn() -> Option<u32>) -> Option<u32> {
    let with_cache = |cache: &RefCell<Vec<Option<Entry>>>| {
        let mut cache = cache.try_borrow_mut().ok()?;
        if cache.is_empty() {
            cache.resize_with(CACHE_ENTRIES, || None);
        }
        let slot = &mut cache[slot_of(name, category)];
        match slot {
            Some(entry) if entry.is(session, name, category) => Some(Some(entry.id)),
            _ => {
                let id = ask();
                if let Some(id) = id {
                    let (name, category) = (name.into(), category.into());
                    *slot = Some(Entry { session, name, category, id });
                }
                Some(id)
            }
        }
    };
    CACHE.try_with(with_cache).ok().flatten().unwrap_or_else(ask)
}

impl Entry {
    fn is(&self, session: u64, name: &str, category: &str) -> bool {
        self.session == session && *self.name == *name && *self.category == *category
    }
}

/// Any spread will do: a collision costs a look into the table, nothing else.
fn slot_of(name: &str, category: &str) -> usize {
    const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = (name.len() as u64) << 8 | category.len() as u64;
    for word in name.as_bytes().chunks(8).chain(category.as_bytes().chunks(8)) {
        let mut bytes = [0; 8];
        bytes[..word.len()].copy_from_slice(word);
        hash = (hash.rotate_left(5) ^ u64::from_le_bytes(bytes)).wrapping_mul(MULTIPLIER);
    }
    (hash >> 56) as usize % CACHE_ENTRIES
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
        let names: Vec<String> = (0..2000).map(|n| format!("name {n}")).collect();
        for _ in 0..2 {
            for (n, name) in names.iter().enumerate() {
                assert_eq!(cached(1, name, "c", || Some(n as u32)), Some(n as u32));
            }
        }
    }
}
