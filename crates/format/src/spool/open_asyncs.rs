//! Async events that have begun and not ended.

use super::dictionary::{Dictionary, Site, Thread};
use super::record::{Record, RecordKind, SITE_INLINE};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Maximum number of async events that are tracked, about 5 MB. Further ones stay without an end.
const OPEN_MAX: usize = 1 << 16;

/// Key that joins the points of an async event: hash of name and category, and the id.
pub(crate) type AsyncKey = (u64, u64);

/// Returns the key of a record's async event. Its begin and end have different sites if they have different arguments.
pub(crate) fn async_key(site: &Site, record: &Record<'_>) -> AsyncKey {
    let mut hasher = DefaultHasher::new();
    site.head().hash(&mut hasher);
    (hasher.finish(), record.leading(0))
}

/// The begin or end of an async event.
#[derive(Clone, Debug)]
pub(crate) struct AsyncPoint {
    key: AsyncKey,
    is_begin: bool,
    site: u32,
    thread: u32,
    /// Time in nanoseconds.
    time: u64,
    /// The title of the row, for a begin.
    title: Option<Box<str>>,
}

impl AsyncPoint {
    /// Creates a point from a record, if it is a begin or an end and its name is defined in the spool.
    pub(crate) fn of(site: &Site, record: &Record<'_>, thread: u32, time: u64, title: Option<&str>) -> Option<Self> {
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
pub(crate) struct AddedEnd<'a> {
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
pub(crate) struct OpenAsyncs {
    open: HashMap<AsyncKey, OpenAsync>,
    n_begins: u64,
    /// Time of the last event of any thread, in nanoseconds.
    last: u64,
}

#[derive(Debug)]
struct OpenAsync {
    /// Number of begins minus number of ends: an end may be found before its begin, which is on another thread.
    n_open: i64,
    begin: AsyncPoint,
    /// The sequence number of the last begin.
    order: u64,
}

impl OpenAsyncs {
    /// Adds begins and ends in the order of the file, and the time of the last event of the same pieces.
    pub(crate) fn add(&mut self, async_points: &[AsyncPoint], last: u64) {
        self.last = self.last.max(last);
        for point in async_points {
            self.n_begins += u64::from(point.is_begin);
            let (order, is_full) = (self.n_begins, self.open.len() >= OPEN_MAX);
            let event = match self.open.entry(point.key) {
                Entry::Vacant(_) if is_full => continue,
                entry => entry.or_insert_with(|| OpenAsync { n_open: 0, begin: point.clone(), order }),
            };
            event.n_open += if point.is_begin { 1 } else { -1 };
            if point.is_begin {
                (event.begin, event.order) = (point.clone(), order);
            }
            if event.n_open == 0 {
                self.open.remove(&point.key);
            }
        }
    }

    /// Returns the time of the last event of any thread, in nanoseconds.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Returns the missing ends, at `time`. The event that began last ends first, since it may be inside the others.
    pub(crate) fn ends<'d>(&'d self, dictionary: &'d Dictionary, time: u64) -> Vec<AddedEnd<'d>> {
        let mut open: Vec<&OpenAsync> = self.open.values().filter(|event| event.n_open > 0).collect();
        open.sort_unstable_by_key(|event| Reverse((event.begin.time, event.order)));
        let mut ends = Vec::new();
        for OpenAsync { n_open, begin, .. } in open {
            if let (Some(site), Some(thread)) = (dictionary.site(begin.site), dictionary.thread(begin.thread)) {
                let title = begin.title.as_deref();
                let end = AddedEnd { site, thread, id: begin.key.1, time, title };
                ends.extend(std::iter::repeat_n(end, usize::try_from(*n_open).unwrap_or(0)));
            }
        }
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(id: u64, is_begin: bool) -> AsyncPoint {
        AsyncPoint { key: (1, id), is_begin, site: 2, thread: 0, time: id, title: None }
    }

    #[test]
    fn an_end_that_is_found_before_its_begin_matches_it() {
        let mut unclosed = OpenAsyncs::default();
        unclosed.add(&[point(7, false), point(8, true)], 0);
        unclosed.add(&[point(7, true)], 0);
        assert_eq!(unclosed.open.keys().collect::<Vec<_>>(), [&(1, 8)]);
    }

    #[test]
    fn the_number_of_tracked_async_events_is_limited() {
        let mut unclosed = OpenAsyncs::default();
        let many = OPEN_MAX as u64 + 10;
        unclosed.add(&(0..many).map(|id| point(id, true)).collect::<Vec<_>>(), 0);
        assert_eq!(unclosed.open.len(), OPEN_MAX);
        unclosed.add(&(0..many).map(|id| point(id, false)).collect::<Vec<_>>(), 0);
        // The ends of those that did not fit are tracked, as if their begins were still to come.
        assert_eq!(unclosed.open.len(), 10);
        assert!(unclosed.open.values().all(|event| event.n_open < 0));
    }
}
