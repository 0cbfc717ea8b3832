//! A table of distinct texts.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// The number of a text in [`Strings`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StringId(pub u32);

impl StringId {
    /// The empty text, which is in every table.
    pub const EMPTY: Self = Self(0);

    /// Returns the index for arrays with one entry per text.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Distinct texts, numbered in the order of their first occurrence.
#[derive(Clone, Debug)]
pub struct Strings {
    /// All texts, concatenated.
    text: String,
    /// The end of each text.
    ends: Vec<usize>,
    /// Numbers by hash. Each table has its own hash seed, so that no input can be prepared to collide.
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
    /// Removes all texts but the empty one; keeps the memory.
    pub fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
        self.ids.clear();
        self.intern("");
    }

    /// Returns the number of a text, and adds the text if it is new.
    ///
    /// # Panics
    ///
    /// After 4 billion distinct texts, which take more than 16 GB.
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

    /// Returns the number of a text that may not be valid UTF-8; invalid bytes are replaced by U+FFFD.
    pub fn intern_bytes(&mut self, bytes: &[u8]) -> StringId {
        let hash = self.hasher.hash_one(bytes);
        if let Some(&id) = self.ids.find(hash, |&id| text_at(&self.text, &self.ends, id).as_bytes() == bytes) {
            return StringId(id);
        }
        self.intern(&String::from_utf8_lossy(bytes))
    }

    /// Returns the number of a text, if the table has it.
    pub fn find(&self, text: &str) -> Option<StringId> {
        let hash = self.hasher.hash_one(text.as_bytes());
        self.ids.find(hash, |&id| text_at(&self.text, &self.ends, id) == text).copied().map(StringId)
    }

    /// Returns the text with this number.
    pub fn get(&self, id: StringId) -> &str {
        text_at(&self.text, &self.ends, id.0)
    }

    /// Returns the number of distinct texts, including the empty one.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns false: the empty text is always in the table.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns all texts with their numbers.
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
    fn a_text_has_one_number_and_is_found_by_it() {
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
    fn a_cleared_table_numbers_texts_anew() {
        let mut strings = Strings::default();
        strings.intern("a");
        strings.clear();
        assert_eq!((strings.len(), strings.find("a")), (1, None));
        assert_eq!(strings.intern("b"), StringId(1));
    }

    #[test]
    fn many_texts_get_distinct_numbers() {
        let mut strings = Strings::default();
        let ids: Vec<StringId> = (0..100_000).map(|n: u32| strings.intern(&n.to_string())).collect();
        for (n, &id) in ids.iter().enumerate() {
            assert_eq!(strings.get(id), n.to_string());
        }
    }
}
