//! Async events that have begun and not ended.

use super::dictionary::{Dictionary, Site, Thread};
use super::record::{Record, RecordKind, SITE_INLINE};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Maximum number of async events that are tracked, about 5 MB. Further ones stay without an end.
const UNCLOSED_MAX: usize = 1 << 16;

/// Key that joins the points of an async event: hash of name and category, and the id.
pub type AsyncKey = (u64, u64);

/// Returns the key of a record's async event. Its begin and end have different sites if they have different arguments.
pub fn async_key(site: &Site, record: &Record<'_>) -> AsyncKey {
    let mut hasher = DefaultHasher::new();
    site.head().hash(&mut hasher);
    (hasher.finish(), record.leading(0))
}

/// The begin or end of an async event.
#[derive(Clone, Debug)]
pub struct Edge {
    key: AsyncKey,
    is_begin: bool,
    site: u32,
    thread: u32,
    /// Time in nanoseconds.
    time: u64,
    /// The title of the row, for a begin.
    title: Option<Box<str>>,
}

impl Edge {
    /// Creates a point from a record, if it is a begin or an end and its name is defined in the spool.
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

/// An end that is added to the file for an async event without one.
#[derive(Clone, Copy, Debug)]
pub struct UnclosedEnd<'a> {
    pub site: &'a Site,
    pub thread: &'a Thread,
    pub id: u64,
    /// Time in nanoseconds.
    pub time: u64,
    /// The title of its row.
    pub title: Option<&'a str>,
}

/// All async events that have begun and not ended.
#[derive(Debug, Default)]
pub struct Unclosed {
    things: HashMap<AsyncKey, Thing>,
    n_begins: u64,
    /// Time of the last event of any thread, in nanoseconds.
    last: u64,
}

#[derive(Debug)]
struct Thing {
    /// Number of begins minus number of ends: an end may be found before its begin, which is on another thread.
    n_open: i64,
    begin: Edge,
    /// The sequence number of the last begin.
    order: u64,
}

impl Unclosed {
    /// Adds begins and ends in the order of the file, and the time of the last event of the same pieces.
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

    /// Returns the time of the last event of any thread, in nanoseconds.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Returns the missing ends, at `time`. The event that began last ends first, since it may be inside the others.
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
    fn an_end_that_is_found_before_its_begin_matches_it() {
        let mut unclosed = Unclosed::default();
        unclosed.add(&[edge(7, false), edge(8, true)], 0);
        unclosed.add(&[edge(7, true)], 0);
        assert_eq!(unclosed.things.keys().collect::<Vec<_>>(), [&(1, 8)]);
    }

    #[test]
    fn the_number_of_tracked_async_events_is_limited() {
        let mut unclosed = Unclosed::default();
        let many = UNCLOSED_MAX as u64 + 10;
        unclosed.add(&(0..many).map(|id| edge(id, true)).collect::<Vec<_>>(), 0);
        assert_eq!(unclosed.things.len(), UNCLOSED_MAX);
        unclosed.add(&(0..many).map(|id| edge(id, false)).collect::<Vec<_>>(), 0);
        // The ends of those that did not fit are tracked, as if their begins were still to come.
        assert_eq!(unclosed.things.len(), 10);
        assert!(unclosed.things.values().all(|thing| thing.n_open < 0));
    }
}
