//! What is kept of a span while it lives.

use super::callsite::{end_site_of, site_of};
use super::fields::Fields;
use super::stack;
use crate::arg::{Arg, Value};
use crate::async_span::next_id;
use crate::attach;
use crate::buffer::Draft;
use crate::clock;
use crate::global;
use crate::site::Site;
use crate::spool::lock;
use ferrum_trace_format::spool::record::Kind;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use tracing_core::Metadata;

/// What is kept of a span while it lives. Times are those of the recording's clock.
#[derive(Debug)]
pub struct Kept {
    metadata: &'static Metadata<'static>,
    /// The site of its slices while it has no fields.
    plain: &'static Site,
    has_fields: AtomicBool,
    /// Shared, so that the lock is held for a moment only.
    fields: Mutex<Option<Arc<Fields>>>,
    /// The thread that entered it first, 0 before that.
    home: AtomicUsize,
    first: AtomicU64,
    /// For how long it was entered at home. Only that thread adds to it, so it needs no locked instruction.
    busy_at_home: AtomicU64,
    busy_elsewhere: AtomicU64,
    /// Its row, once it has one.
    row: OnceLock<Row>,
}

/// The row of a span that is a task.
#[derive(Debug)]
struct Row {
    id: u64,
    /// When it was made, on the clock of the recording and in nanoseconds: with another such pair, what the clock's unit is.
    pair: (u64, u64),
}

impl Kept {
    pub fn new(metadata: &'static Metadata<'static>, fields: Fields) -> Self {
        Self {
            metadata,
            plain: site_of(metadata, 0),
            has_fields: AtomicBool::new(fields.present != 0),
            fields: Mutex::new((fields.present != 0).then(|| Arc::new(fields))),
            home: AtomicUsize::new(0),
            first: AtomicU64::new(0),
            busy_at_home: AtomicU64::new(0),
            busy_elsewhere: AtomicU64::new(0),
            row: OnceLock::new(),
        }
    }

    /// Some fields have got values, or others than before.
    pub fn update(&self, news: Fields) {
        // A signal handler that records must not find the lock taken by what it interrupted.
        attach::quietly(|| Arc::make_mut(lock(&self.fields).get_or_insert_default()).take_over(news));
        self.has_fields.store(true, Ordering::Relaxed);
    }

    /// The site of its slices, if they have no arguments.
    #[inline]
    pub fn plain_site(&self) -> Option<&'static Site> {
        (!self.has_fields.load(Ordering::Relaxed)).then_some(self.plain)
    }

    /// The site of its slices, and their arguments.
    pub fn site_and_args(&self) -> (&'static Site, Vec<Arg>) {
        match attach::quietly(|| lock(&self.fields).clone()) {
            Some(fields) => (site_of(self.metadata, fields.present), fields.args()),
            None => (self.plain, Vec::new()),
        }
    }

    /// The thread enters it. If that shows it to be a task, it gets a row, which begins where it was entered first.
    #[inline]
    pub fn note_entry(&self) {
        let (here, home) = (stack::thread(), self.home.load(Ordering::Relaxed));
        if home == 0 {
            self.first.store(global::now(), Ordering::Relaxed);
            self.home.store(here, Ordering::Relaxed);
        } else if (home != here || self.has_fields.load(Ordering::Relaxed)) && self.row.get().is_none() {
            self.begin_row();
        }
    }

    /// The thread leaves it, after so long.
    #[inline]
    pub fn note_exit(&self, busy: u64) {
        if self.home.load(Ordering::Relaxed) == stack::thread() {
            let before = self.busy_at_home.load(Ordering::Relaxed);
            self.busy_at_home.store(before.wrapping_add(busy), Ordering::Relaxed);
        } else {
            self.busy_elsewhere.fetch_add(busy, Ordering::Relaxed);
        }
    }

    #[cold]
    fn begin_row(&self) {
        let row = Row { id: next_id(), pair: (global::now(), clock::monotonic_nanos()) };
        let id = row.id;
        if self.row.set(row).is_err() {
            return; // Another thread was faster.
        }
        let first = self.first.load(Ordering::Relaxed);
        let (site, args) = self.site_and_args();
        let draft = Draft { kind: Kind::AsyncBegin, site: 0, start: first, end: first, leading: &[id], args: &args };
        attach::record(|| site.id(), &draft);
    }

    /// The span is gone. The end of its row says how much of it was work.
    pub fn end_row(&self) {
        let Some(row) = self.row.get() else {
            return;
        };
        let (now, nanos) = (global::now(), clock::monotonic_nanos());
        let busy = self.busy_at_home.load(Ordering::Relaxed) + self.busy_elsewhere.load(Ordering::Relaxed);
        let idle = now.saturating_sub(self.first.load(Ordering::Relaxed)).saturating_sub(busy);
        let unit = nanos.saturating_sub(row.pair.1) as f64 / now.saturating_sub(row.pair.0).max(1) as f64;
        let args = [busy, idle].map(|time| ((time as f64 * unit).round() as u64).to_arg());
        let site = end_site_of(self.metadata);
        let draft = Draft { kind: Kind::AsyncEnd, site: 0, start: now, end: now, leading: &[row.id], args: &args };
        attach::record(|| site.id(), &draft);
    }
}
