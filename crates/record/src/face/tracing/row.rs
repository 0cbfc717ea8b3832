//! Rows of spans that are tasks, and their nesting in the rows of the spans around them.
//!
//! Viewers draw async events of one category and id on one row, and nest them by time. So a span is drawn in the row of
//! the span around it if its time lies within that span and no other span is there at that time. Otherwise it gets a
//! separate row, named after the outermost span and itself.

use super::kept::Kept;
use crate::os::clock;
use crate::probe::async_span::next_id;
use crate::process::current;
use crate::process::switch;
use crate::util::lock::lock;
use std::sync::{Arc, Mutex};

/// Minimum distance between two begins or ends of a row, on any clock: at the same nanosecond, their order would depend
/// on the order of threads in the file.
const APART: u64 = 16;

/// The row of a span that is a task. Times are on the recording's clock.
#[derive(Debug)]
pub(super) struct Row {
    /// Shared with the row that it is drawn in.
    pub id: u64,
    /// Category of the outermost span.
    pub category: &'static str,
    /// Title of the row, if it is not drawn in another row.
    pub title: Option<Box<str>>,
    pub begin: u64,
    /// Time when it was made, on the recording's clock and in nanoseconds. A second pair at the end gives the unit of
    /// the clock.
    pub pair: (u64, u64),
    recording: u64,
    /// Name of the outermost span.
    root: Arc<str>,
    /// The span whose row it is drawn in.
    outer: Option<Arc<Kept>>,
    inside: Mutex<Inside>,
}

/// State of the level directly inside a row.
#[derive(Debug)]
struct Inside {
    is_taken: bool,
    /// End of the last span there.
    free_from: u64,
}

impl Row {
    /// Creates the row of a span that was first entered at `first`. `around` are the spans around it, the innermost
    /// first.
    pub(super) fn new(label: &Label<'_>, target: &'static str, first: u64, around: &[Arc<Kept>]) -> Self {
        let recording = current::recording_id();
        let mut rows = around.iter().filter_map(|kept| Some((kept, kept.row()?)));
        let outer = rows.find(|(_, row)| row.recording == recording);
        let inside = outer.and_then(|(kept, row)| Some((kept, row.take_inside(first)?)));
        let (category, root) = match outer {
            Some((_, row)) => (row.category, Arc::clone(&row.root)),
            None => (target, label.text().into()),
        };
        let (id, begin, title) = match (inside, outer) {
            (Some((_, begin)), Some((_, row))) => (row.id, begin, None),
            (_, Some(_)) => (next_id(), first, Some(format!("{root} / {}", label.text()).into())),
            (_, None) => (next_id(), first, label.id.map(|_| label.text().into())),
        };
        Self {
            id,
            category,
            title,
            begin,
            pair: (switch::now(), clock::monotonic_nanos()),
            recording,
            root,
            outer: inside.map(|(kept, _)| Arc::clone(kept)),
            inside: Mutex::new(Inside { is_taken: false, free_from: begin }),
        }
    }

    /// Occupies the level inside this row for a span that began at `first`. Returns the adjusted begin; `None` if
    /// another span is there, or was there after `first`.
    fn take_inside(&self, first: u64) -> Option<u64> {
        let mut inside = lock(&self.inside);
        if inside.is_taken || first < inside.free_from {
            return None;
        }
        inside.is_taken = true;
        Some(first.max(inside.free_from.saturating_add(APART)))
    }

    /// Ends the row, and frees the level that it occupied in another row. Returns the end, which is after everything
    /// inside it.
    pub(super) fn end(&self, now: u64) -> u64 {
        let end = now.max(lock(&self.inside).free_from.saturating_add(APART));
        if let Some(outer) = self.outer.as_ref().and_then(|outer| outer.row()) {
            *lock(&outer.inside) = Inside { is_taken: false, free_from: end };
        }
        end
    }

    /// Returns true if its recording is still running.
    pub(super) fn is_recorded(&self) -> bool {
        current::is_recording(self.recording)
    }
}

/// Label of a span in the title of a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label<'a> {
    pub name: &'a str,
    /// The value of the field that identifies the span.
    pub id: Option<&'a str>,
}

impl Label<'_> {
    fn text(&self) -> String {
        self.id.map_or_else(|| self.name.to_owned(), |id| ferrum_trace_format::spool::row_title::titled(self.name, id))
    }
}
