//! Async events: requests, tasks, which may begin and end on different threads.

use crate::probe::mode::mode;
use crate::probe::span::DynamicName;
use crate::process::attach;
use crate::process::categories::is_muted;
use crate::process::current;
use crate::process::event::point;
use crate::process::switch::{self, OFF};
use crate::thread::arg::Arg;
use crate::thread::buffer::Draft;
use crate::thread::site::Site;
use crate::util::compiled_out::COMPILED_OUT;
use ferrum_trace_format::spool::record::{RecordKind, Type};
use ferrum_trace_format::spool::row_title::{ID_KEYS, TITLE_KEY};
use std::sync::atomic::{AtomicU64, Ordering};

/// First id that the recorder assigns: ids of users are mostly smaller.
const FIRST_OWN_ID: u64 = 1 << 48;

/// The sites of an [`AsyncSpan`]. The macro makes one for each use, as a `static`.
#[derive(Debug)]
pub struct AsyncSite {
    begin: Site,
    end: Site,
    /// Position of the argument that is repeated at the end, since the title of the row has it.
    id_place: Option<usize>,
}

/// Argument keys of the end event, by id key.
static END_KEYS: [[&str; 2]; ID_KEYS.len()] = {
    let mut end_keys = [[TITLE_KEY; 2]; ID_KEYS.len()];
    let mut n = 0;
    while n < ID_KEYS.len() {
        end_keys[n][0] = ID_KEYS[n];
        n += 1;
    }
    end_keys
};

impl AsyncSite {
    /// Creates a site with its name, category and keys, the last of which is [`TITLE_KEY`].
    pub const fn new(name: &'static str, category: &'static str, keys: &'static [&'static str]) -> Self {
        let begin = Site::new(name, category, keys);
        let mut n = 0;
        while n < ID_KEYS.len() {
            if let Some(place) = place_of(ID_KEYS[n], keys) {
                return Self { begin, end: Site::new(name, category, &END_KEYS[n]), id_place: Some(place) };
            }
            n += 1;
        }
        Self { begin, end: Site::new(name, category, &[TITLE_KEY]), id_place: None }
    }
}

const fn place_of(wanted: &str, keys: &[&str]) -> Option<usize> {
    let mut place = 0;
    while place < keys.len() {
        if is_same(wanted.as_bytes(), keys[place].as_bytes()) {
            return Some(place);
        }
        place += 1;
    }
    None
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut n = 0;
    while n < one.len() && n < other.len() && one[n] == other[n] {
        n += 1;
    }
    n == one.len() && n == other.len()
}

/// An async slice that ends when it is dropped, on any thread. Made by [`async_span!`](crate::async_span).
#[must_use = "it ends when it is dropped: keep it"]
#[derive(Debug)]
pub struct AsyncSpan {
    site: &'static AsyncSite,
    /// 0 if it is not recorded.
    id: u64,
    /// The argument that is repeated at the end, and the session that has its text.
    label: Option<(Arg, u64)>,
}

/// Returns an id that is unique in this process.
pub(crate) fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(FIRST_OWN_ID);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl AsyncSpan {
    #[doc(hidden)]
    pub fn begin(site: &'static AsyncSite, args: &[Arg]) -> Self {
        if is_muted(&site.begin) {
            return Self::off(site);
        }
        let id = next_id();
        let label = site.id_place.and_then(|place| args.get(place)).map(|&label| (label, current::active_id()));
        point(RecordKind::AsyncBegin, &site.begin, &[id], args);
        Self { site, id, label }
    }

    #[doc(hidden)]
    pub fn off(site: &'static AsyncSite) -> Self {
        Self { site, id: 0, label: None }
    }

    fn end(&self) {
        // After a rotation, the text is in the previous file.
        let is_readable = |label: &Arg, session: u64| label.kind != Type::TextAt || current::is_active(session);
        match self.label {
            Some((label, session)) if is_readable(&label, session) => {
                point(RecordKind::AsyncEnd, &self.site.end, &[self.id], &[label]);
            }
            _ => point(RecordKind::AsyncEnd, &self.site.end, &[self.id], &[]),
        }
    }

    /// Records an instant within it, on any thread.
    pub fn instant(&self, name: &str) {
        if COMPILED_OUT || self.id == 0 || mode() == OFF {
            return;
        }
        let name = DynamicName::new(name, self.site.begin.category());
        let now = switch::now();
        let draft = Draft {
            kind: RecordKind::AsyncInstant,
            site: 0,
            start: now,
            end: now,
            leading: &[self.id],
            args: name.args(),
        };
        attach::record(|| name.site(), &draft);
    }

    /// Returns its id in the trace.
    pub fn id(&self) -> u64 {
        self.id
    }
}

impl Drop for AsyncSpan {
    fn drop(&mut self) {
        if !COMPILED_OUT && self.id != 0 {
            self.end();
        }
    }
}

#[doc(hidden)]
pub fn async_begin(site: &'static Site, id: u64, args: &[Arg]) {
    if !is_muted(site) {
        point(RecordKind::AsyncBegin, site, &[id], args);
    }
}

#[doc(hidden)]
pub fn async_instant(site: &'static Site, id: u64, args: &[Arg]) {
    if !is_muted(site) {
        point(RecordKind::AsyncInstant, site, &[id], args);
    }
}

#[doc(hidden)]
pub fn async_end(site: &'static Site, id: u64, args: &[Arg]) {
    if !is_muted(site) {
        point(RecordKind::AsyncEnd, site, &[id], args);
    }
}
