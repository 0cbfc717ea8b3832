//! What may begin and end on different threads: requests, tasks.

use crate::arg::Arg;
use crate::attach;
use crate::buffer::Draft;
use crate::event::{is_muted, point};
use crate::global;
use crate::site::Site;
use crate::span::DynamicName;
use crate::switch::OFF;
use ferrum_trace_format::spool::record::Kind;
use std::sync::atomic::{AtomicU64, Ordering};

/// Ids that the recorder gives begin here: those of users are mostly smaller.
const FIRST_OWN_ID: u64 = 1 << 48;

/// Something that began here and ends where it is dropped, on whatever thread. Made by
/// [`async_span!`](crate::async_span).
#[must_use = "it ends when it is dropped: keep it"]
#[derive(Debug)]
pub struct AsyncSpan {
    site: &'static Site,
    /// 0 if it is not recorded.
    id: u64,
}

/// An id that nothing else of this process has.
pub(crate) fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(FIRST_OWN_ID);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl AsyncSpan {
    #[doc(hidden)]
    pub fn begin(site: &'static Site, args: &[Arg]) -> Self {
        if is_muted(site) {
            return Self::off(site);
        }
        let id = next_id();
        point(Kind::AsyncBegin, site, &[id], args);
        Self { site, id }
    }

    #[doc(hidden)]
    pub fn off(site: &'static Site) -> Self {
        Self { site, id: 0 }
    }

    /// Records a point in time within it, on whatever thread.
    pub fn instant(&self, name: &str) {
        if crate::COMPILED_OUT || self.id == 0 || global::mode() == OFF {
            return;
        }
        let name = DynamicName::new(name, self.site.category());
        let now = global::now();
        let draft =
            Draft { kind: Kind::AsyncInstant, site: 0, start: now, end: now, leading: &[self.id], args: name.args() };
        attach::record(|| name.site(), &draft);
    }

    /// The id that it has in the trace.
    pub fn id(&self) -> u64 {
        self.id
    }
}

impl Drop for AsyncSpan {
    fn drop(&mut self) {
        if !crate::COMPILED_OUT && self.id != 0 {
            point(Kind::AsyncEnd, self.site, &[self.id], &[]);
        }
    }
}

#[doc(hidden)]
pub fn async_begin(site: &'static Site, id: u64, args: &[Arg]) {
    if !is_muted(site) {
        point(Kind::AsyncBegin, site, &[id], args);
    }
}

#[doc(hidden)]
pub fn async_instant(site: &'static Site, id: u64, args: &[Arg]) {
    if !is_muted(site) {
        point(Kind::AsyncInstant, site, &[id], args);
    }
}

#[doc(hidden)]
pub fn async_end(site: &'static Site, id: u64, args: &[Arg]) {
    if !is_muted(site) {
        point(Kind::AsyncEnd, site, &[id], args);
    }
}
