//! What is asynchronous and has no end yet.

use super::dictionary::{Dictionary, Site, Thread};
use super::record::{Record, RecordKind, SITE_INLINE};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{DefaultHasher, Hash, Hasher};

/// How many things are kept in mind at most, 5 MB of them. What begins beyond that stays without an end.
const UNCLOSED_MAX: usize = 1 << 16;

/// What the begin and the end of an asynchronous thing have in common: name and category, as a hash, and the id.
pub type AsyncKey = (u64, u64);

/// The key of an event's thing. Begin and end are of different sites if they have different arguments.
pub fn async_key(site: &Site, record: &Record<'_>) -> AsyncKey {
    let mut hasher = DefaultHasher::new();
    site.head().hash(&mut hasher);
    (hasher.finish(), record.leading(0))
}

/// A begin or an end.
#[derive(Clone, Debug)]
pub struct Edge {
    key: AsyncKey,
    is_begin: bool,
    site: u32,
    thread: u32,
    /// Nanoseconds.
    time: u64,
    /// The title of the row, of a begin.
    title: Option<Box<str>>,
}

impl Edge {
    /// What an event is, if it is one of these and its name is one that the spool defines.
    pub fn of(site: &Site, record: &Record<'_>, thread: u32, time: u64, title: Option<&str>) -> Option<Self> {
        let is_begin = match record.kind {
            RecordKind::AsyncBegin => true,
            RecordKind::AsyncEnd => false,
            _ => return None,
        };
        let is_defined = record.site != SITE_INLINE;
        let title = title.filter(|_| is_begin).map(Into::into);
        is_defined.then(|| Self { key: async_key(site, record), is_begin, site: record.site, thread, time, title })
    }
}

/// The end of something that has none, as it is written to a file that could be the last word.
#[derive(Clone, Copy, Debug)]
pub struct UnclosedEnd<'a> {
    pub site: &'a Site,
    pub thread: &'a Thread,
    pub id: u64,
    /// Nanoseconds.
    pub time: u64,
    /// The title of its row.
    pub title: Option<&'a str>,
}

/// All that has no end yet.
#[derive(Debug, Default)]
pub struct Unclosed {
    things: HashMap<AsyncKey, Thing>,
    n_begins: u64,
    /// When the last event of any thread is, in nanoseconds.
    last: u64,
}

#[derive(Debug)]
struct Thing {
    /// Begins less ends: an end may be found before its begin, which is on another thread.
    n_open: i64,
    begin: Edge,
    /// The number of that begin among all.
    order: u64,
}

impl Unclosed {
    /// Takes in events as they stand in the file, and when the last of those with them is.
    pub fn add(&mut self, edges: &[Edge], last: u64) {
        self.last = self.last.max(last);
        for edge in edges {
            self.n_begins += u64::from(edge.is_begin);
            let (order, is_full) = (self.n_begins, self.things.len() >= UNCLOSED_MAX);
            let thing = match self.things.entry(edge.key) {
                Entry::Vacant(_) if is_full => continue,
                entry => entry.or_insert_with(|| Thing { n_open: 0, begin: edge.clone(), order }),
            };
            thing.n_open += if edge.is_begin { 1 } else { -1 };
            if edge.is_begin {
                (thing.begin, thing.order) = (edge.clone(), order);
            }
            if thing.n_open == 0 {
                self.things.remove(&edge.key);
            }
        }
    }

    /// When the last event of any thread is, in nanoseconds.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// The ends that are missing, at `time`. What began last ends first, since it may be inside of the others.
    pub fn ends<'d>(&'d self, dictionary: &'d Dictionary, time: u64) -> Vec<UnclosedEnd<'d>> {
        let mut open: Vec<&Thing> = self.things.values().filter(|thing| thing.n_open > 0).collect();
        open.sort_unstable_by_key(|thing| Reverse((thing.begin.time, thing.order)));
        let mut ends = Vec::new();
        for Thing { n_open, begin, .. } in open {
            if let (Some(site), Some(thread)) = (dictionary.site(begin.site), dictionary.thread(begin.thread)) {
                let title = begin.title.as_deref();
                let end = UnclosedEnd { site, thread, id: begin.key.1, time, title };
                ends.extend(std::iter::repeat_n(end, usize::try_from(*n_open).unwrap_or(0)));
            }
        }
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(id: u64, is_begin: bool) -> Edge {
        Edge { key: (1, id), is_begin, site: 2, thread: 0, time: id, title: None }
    }

    #[test]
    fn an_end_that_is_found_before_its_begin_is_its_end() {
        let mut unclosed = Unclosed::default();
        unclosed.add(&[edge(7, false), edge(8, true)], 0);
        unclosed.add(&[edge(7, true)], 0);
        assert_eq!(unclosed.things.keys().collect::<Vec<_>>(), [&(1, 8)]);
    }

    #[test]
    fn no_more_is_kept_than_there_is_room_for() {
        let mut unclosed = Unclosed::default();
        let many = UNCLOSED_MAX as u64 + 10;
        unclosed.add(&(0..many).map(|id| edge(id, true)).collect::<Vec<_>>(), 0);
        assert_eq!(unclosed.things.len(), UNCLOSED_MAX);
        unclosed.add(&(0..many).map(|id| edge(id, false)).collect::<Vec<_>>(), 0);
        // The ends of those that did not fit find room, as if their begins were still to come.
        assert_eq!(unclosed.things.len(), 10);
        assert!(unclosed.things.values().all(|thing| thing.n_open < 0));
    }
}
