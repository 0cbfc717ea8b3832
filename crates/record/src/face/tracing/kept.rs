//! State of a span of `tracing` while it exists, for spans that are tasks or whose state does not fit into a slot.

use super::callsite::{RowEdge, has_target_key, row_site, site_of};
use super::fields::Fields;
use super::row::{Label, Row};
use super::slot::Slot;
use super::stack;
use crate::os::clock;
use crate::probe::flow::Flow;
use crate::probe::mode::mode;
use crate::process::attach;
use crate::process::current::site_id;
use crate::process::switch::{self, OFF};
use crate::process::value::Value;
use crate::thread::arg::Arg;
use crate::thread::buffer::Draft;
use crate::thread::buffer::quietly;
use crate::thread::site::Site;
use crate::util::lock::lock;
use ferrum_trace_format::spool::record::RecordKind;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use tracing_core::Metadata;

/// State of a span while it exists. Times are on the recording's clock.
#[derive(Debug)]
pub(super) struct Kept {
    metadata: &'static Metadata<'static>,
    /// The site of its slices while it has no fields.
    plain: &'static Site,
    has_fields: AtomicBool,
    /// Shared, so that the lock is held only briefly.
    fields: Mutex<Option<Arc<Fields>>>,
    /// The first thread that entered it; 0 before that.
    home: AtomicUsize,
    first: AtomicU64,
    /// Time it was entered on its home thread. Only that thread adds to it, so no atomic read-modify-write is needed.
    busy_at_home: AtomicU64,
    busy_elsewhere: AtomicU64,
    /// Its row, if it has one.
    row: OnceLock<Row>,
    /// The slot that it was created in, with the time that it was entered before its state moved here.
    slot: Option<&'static Slot>,
    has_causes: AtomicBool,
    /// Flows from the spans that it follows, until its first entry.
    causes: Mutex<Vec<Flow>>,
}

impl Kept {
    pub(super) fn new(metadata: &'static Metadata<'static>, fields: Fields) -> Self {
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
            slot: None,
            has_causes: AtomicBool::new(false),
            causes: Mutex::default(),
        }
    }

    /// Takes over the state of a span from its slot.
    pub(super) fn of_slot(metadata: &'static Metadata<'static>, slot: &'static Slot) -> Self {
        let kept = Self::new(metadata, Fields::of_slot(slot));
        let home = slot.home();
        kept.home.store(home, Ordering::Relaxed);
        kept.first.store(slot.first(), Ordering::Relaxed);
        Self { slot: Some(slot), ..kept }
    }

    /// Adds a flow that ends at its next entry.
    pub(super) fn add_cause(&self, flow: Flow) {
        quietly(|| lock(&self.causes).push(flow));
        self.has_causes.store(true, Ordering::Release);
    }

    /// Removes and returns the flows that end at this entry.
    pub(super) fn take_causes(&self) -> Vec<Flow> {
        match self.has_causes.load(Ordering::Acquire) {
            true => quietly(|| std::mem::take(&mut *lock(&self.causes))),
            false => Vec::new(),
        }
    }

    /// Returns the slot that the span was created in.
    pub(super) fn slot(&self) -> Option<&'static Slot> {
        self.slot
    }

    /// Sets values of fields, or replaces them.
    pub(super) fn update(&self, news: Fields) {
        // A signal handler that records must not find the lock held by the code it interrupted.
        quietly(|| Arc::make_mut(lock(&self.fields).get_or_insert_default()).take_over(news));
        self.has_fields.store(true, Ordering::Relaxed);
    }

    /// Returns the site of its slices, if they have no arguments.
    #[inline]
    pub(super) fn plain_site(&self) -> Option<&'static Site> {
        (!self.has_fields.load(Ordering::Relaxed)).then_some(self.plain)
    }

    /// Returns the site of its name without arguments.
    #[inline]
    pub(super) fn bare_site(&self) -> &'static Site {
        self.plain
    }

    /// Returns the site of its slices, and their arguments.
    pub(super) fn site_and_args(&self) -> (&'static Site, Vec<Arg>) {
        match self.fields() {
            Some(fields) => (site_of(self.metadata, fields.present), fields.args()),
            None => (self.plain, Vec::new()),
        }
    }

    fn fields(&self) -> Option<Arc<Fields>> {
        quietly(|| lock(&self.fields).clone())
    }

    /// Returns its row, if it has one.
    pub(super) fn row(&self) -> Option<&Row> {
        self.row.get()
    }

    /// Notes that the thread enters it. If this makes it a task, it gets a row, which begins at its first entry.
    /// `is_task` is true if the caller knows that it is one. `around` returns the spans around it, the innermost first.
    #[inline]
    pub(super) fn note_entry(&self, is_task: bool, around: impl FnOnce() -> Vec<Arc<Self>>) {
        let (here, home) = (stack::thread(), self.home.load(Ordering::Relaxed));
        if home == 0 {
            self.first.store(switch::now(), Ordering::Relaxed);
            // Pairs with `is_waiting`, which may be called on another thread.
            self.home.store(here, Ordering::Release);
        } else if (is_task || home != here || self.has_fields.load(Ordering::Relaxed)) && self.row.get().is_none() {
            self.begin_rows(&around());
        }
    }

    /// Notes that the thread leaves it after `busy`.
    #[inline]
    pub(super) fn note_exit(&self, busy: u64) {
        if self.home.load(Ordering::Relaxed) == stack::thread() {
            let before = self.busy_at_home.load(Ordering::Relaxed);
            self.busy_at_home.store(before.wrapping_add(busy), Ordering::Relaxed);
        } else {
            self.busy_elsewhere.fetch_add(busy, Ordering::Relaxed);
        }
    }

    /// Begins its row, after the rows of spans around it that wait for it: they are tasks as well.
    #[cold]
    fn begin_rows(&self, around: &[Arc<Self>]) {
        for (n, kept) in around.iter().enumerate().rev().filter(|(_, kept)| kept.is_waiting()) {
            kept.begin_row(&around[n + 1..]);
        }
        self.begin_row(around);
    }

    /// Returns true if it has no row and was either entered and left, or entered and has an id.
    fn is_waiting(&self) -> bool {
        let is_entered = self.home.load(Ordering::Acquire) != 0;
        let has_id = || self.fields().is_some_and(|fields| fields.id(self.metadata).is_some());
        is_entered && self.row.get().is_none() && (self.busy() > 0 || has_id())
    }

    fn busy(&self) -> u64 {
        let before = self.slot.map_or(0, Slot::busy);
        before + self.busy_at_home.load(Ordering::Relaxed) + self.busy_elsewhere.load(Ordering::Relaxed)
    }

    fn begin_row(&self, around: &[Arc<Self>]) {
        let fields = self.fields();
        let id = fields.as_ref().and_then(|fields| fields.id(self.metadata));
        let label = Label { name: self.metadata.name(), id: id.as_deref() };
        let (target, first) = (self.metadata.target(), self.first.load(Ordering::Relaxed));
        let mut is_new = false;
        let row = quietly(|| {
            self.row.get_or_init(|| {
                is_new = true;
                Row::new(&label, target, first, around)
            })
        });
        if !is_new {
            return; // Another thread was faster.
        }
        let (present, mut args) = fields.map_or((0, Vec::new()), |fields| (fields.present, fields.args()));
        if has_target_key(self.metadata, row.category) {
            args.push(target.to_arg());
        }
        self.record_edge(RecordKind::AsyncBegin, row, RowEdge::Begin(present), row.begin, args);
    }

    /// Ends its row when the span is closed. The end has its busy and idle times as arguments.
    pub(super) fn end_row(&self) {
        let Some(row) = self.row.get() else {
            return;
        };
        let (now, nanos) = (switch::now(), clock::monotonic_nanos());
        let end = quietly(|| row.end(now));
        if mode() == OFF || !row.is_recorded() {
            return;
        }
        let busy = self.busy();
        let idle = now.saturating_sub(self.first.load(Ordering::Relaxed)).saturating_sub(busy);
        let unit = nanos.saturating_sub(row.pair.1) as f64 / now.saturating_sub(row.pair.0).max(1) as f64;
        let args = [busy, idle].map(|time| ((time as f64 * unit).round() as u64).to_arg());
        self.record_edge(RecordKind::AsyncEnd, row, RowEdge::End, end, args.into());
    }

    fn record_edge(&self, kind: RecordKind, row: &Row, edge: RowEdge, time: u64, mut args: Vec<Arg>) {
        args.extend(row.title.as_ref().map(|title| title.to_arg()));
        let site = row_site(self.metadata, edge, row.category, row.title.is_some());
        let draft = Draft { kind, site: 0, start: time, end: time, leading: &[row.id], args: &args };
        attach::record(|| site_id(site), &draft);
    }
}
