//! Texts that occur again and again, each kept once.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// The number of a text in [`Strings`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StringId(pub u32);

impl StringId {
    /// The empty text, which every table has.
    pub const EMPTY: Self = Self(0);

    /// Its place in arrays that have one entry a text.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Different texts, numbered in the order in which they were first seen.
#[derive(Clone, Debug)]
pub struct Strings {
    /// All of them, one after the other.
    text: String,
    /// Where each ends.
    ends: Vec<usize>,
    /// By hash. The hasher is seeded anew for each table, so that nobody can prepare texts that collide.
    ids: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Default for Strings {
    fn default() -> Self {
        let mut strings = Self {
            text: String::new(),
            ends: Vec::new(),
            ids: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
        };
        strings.intern("");
        strings
    }
}

impl Strings {
    /// Forgets all but the empty text; the memory stays.
    pub fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
        self.ids.clear();
        self.intern("");
    }

    /// The number of a text, a new one if it has not been seen before.
    ///
    /// # Panics
    ///
    /// After 4 billion different texts, which are more than 16 GB.
    pub fn intern(&mut self, text: &str) -> StringId {
        let hash = self.hasher.hash_one(text.as_bytes());
        let Self { text: all, ends, ids, hasher } = self;
        if let Some(&id) = ids.find(hash, |&id| text_at(all, ends, id) == text) {
            return StringId(id);
        }
        let id = u32::try_from(ends.len()).expect("fewer than 2^32 different texts");
        all.push_str(text);
        ends.push(all.len());
        ids.insert_unique(hash, id, |&id| hasher.hash_one(text_at(all, ends, id).as_bytes()));
        StringId(id)
    }

    /// The number of a text of which it is not known whether it is UTF-8; what is not becomes U+FFFD.
    pub fn intern_bytes(&mut self, bytes: &[u8]) -> StringId {
        let hash = self.hasher.hash_one(bytes);
        if let Some(&id) = self.ids.find(hash, |&id| text_at(&self.text, &self.ends, id).as_bytes() == bytes) {
            return StringId(id);
        }
        self.intern(&String::from_utf8_lossy(bytes))
    }

    /// The number of a text that has been seen.
    pub fn find(&self, text: &str) -> Option<StringId> {
        let hash = self.hasher.hash_one(text.as_bytes());
        self.ids.find(hash, |&id| text_at(&self.text, &self.ends, id) == text).copied().map(StringId)
    }

    /// The text of a number.
    pub fn get(&self, id: StringId) -> &str {
        text_at(&self.text, &self.ends, id.0)
    }

    /// How many different texts there are, the empty one included.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Never: the empty text is always there.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All of them with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (StringId, &str)> {
        (0..self.ends.len() as u32).map(|id| (StringId(id), text_at(&self.text, &self.ends, id)))
    }
}

fn text_at<'a>(all: &'a str, ends: &[usize], id: u32) -> &'a str {
    let id = id as usize;
    let start = if id == 0 { 0 } else { ends[id - 1] };
    &all[start..ends[id]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_one_number_and_comes_back() {
        let mut strings = Strings::default();
        assert_eq!(strings.intern(""), StringId::EMPTY);
        let (a, b) = (strings.intern("a"), strings.intern("b"));
        assert_ne!(a, b);
        assert_eq!(strings.intern("a"), a);
        assert_eq!((strings.get(a), strings.get(b), strings.get(StringId::EMPTY)), ("a", "b", ""));
        assert_eq!((strings.find("b"), strings.find("c")), (Some(b), None));
        assert_eq!(strings.len(), 3);
    }

    #[test]
    fn what_was_forgotten_is_new_again() {
        let mut strings = Strings::default();
        strings.intern("a");
        strings.clear();
        assert_eq!((strings.len(), strings.find("a")), (1, None));
        assert_eq!(strings.intern("b"), StringId(1));
    }

    #[test]
    fn many_texts_stay_apart() {
        let mut strings = Strings::default();
        let ids: Vec<StringId> = (0..100_000).map(|n: u32| strings.intern(&n.to_string())).collect();
        for (n, &id) in ids.iter().enumerate() {
            assert_eq!(strings.get(id), n.to_string());
        }
    }
}
