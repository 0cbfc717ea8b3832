//! State of a span of `tracing` while it exists, for spans with few, short fields.
//!
//! A slot belongs to a table of the thread that created the span, so that no atomic read-modify-write and no allocation
//! is needed. Other threads find it with a search (`table.rs`). It has two writers:
//!
//! ```text
//! owner of the table:  fill, publish ─▶ begin, add_busy …            one thread at a time
//! any thread:                            promote                     the span also has a `Kept` in the registry
//! last handle dropped: free                                          nothing else refers to the span by then
//! ```
//!
//! A thread that uses a span has received a handle from the thread that created it, so it sees what `fill` stored.
#![allow(unsafe_code)]

use super::span_key::SpanKey;
use crate::thread::arg::Arg;
use crate::thread::site::Site;
use ferrum_trace_format::spool::record::Type;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Maximum number of fields.
pub(super) const SLOT_ARGS: usize = 4;

/// Facts about a span that are known when it is created.
#[derive(Clone, Copy, Debug)]
pub(super) struct Created<'a> {
    pub key: SpanKey,
    pub site: &'static Site,
    /// Fields that have values: one bit each, by position at the call site.
    pub present: u64,
    pub args: &'a [Arg],
    /// Number of the span around it, 0 if there is none.
    pub parent: u64,
}

/// A place for a span. Aligned so that threads do not share a cache line.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Slot {
    /// Number of the span, 0 if the slot is free.
    span: AtomicU64,
    layer: AtomicU32,
    is_promoted: AtomicBool,
    /// True if the span was closed while the owner of the table was in it.
    is_closed: AtomicBool,
    /// True if no other span was created or entered between its creation and its first entry.
    is_entered_at_once: AtomicBool,
    n_args: AtomicU32,
    /// Number of entries of the owner that have not ended.
    n_entered: AtomicU32,
    site: AtomicPtr<Site>,
    parent: AtomicU64,
    present: AtomicU64,
    /// The thread that entered it first, 0 before that.
    home: AtomicUsize,
    /// Time of the first entry.
    first: AtomicU64,
    /// Time it was entered, without entries since it was promoted.
    busy: AtomicU64,
    types: AtomicU64,
    words: [AtomicU64; SLOT_ARGS],
}

impl Slot {
    /// Returns true if a span can be stored here.
    #[inline]
    pub(super) fn is_free(&self) -> bool {
        // Pairs with `free`: what other threads have read of the previous span, they have read before the slot is
        // filled again.
        self.span.load(Ordering::Acquire) == 0
    }

    /// Returns true if the slot has this span.
    #[inline]
    pub(super) fn has(&self, key: SpanKey) -> bool {
        // Pairs with the last store of `fill`.
        self.span.load(Ordering::Acquire) == key.span && self.layer.load(Ordering::Relaxed) == key.layer
    }

    /// Stores a span. Only for the owner of the table, and only in a free slot.
    #[inline]
    pub(super) fn fill(&self, span: &Created<'_>) {
        self.layer.store(span.key.layer, Ordering::Relaxed);
        self.is_promoted.store(false, Ordering::Relaxed);
        self.is_closed.store(false, Ordering::Relaxed);
        self.n_entered.store(0, Ordering::Relaxed);
        self.is_entered_at_once.store(false, Ordering::Relaxed);
        self.site.store(std::ptr::from_ref(span.site).cast_mut(), Ordering::Relaxed);
        self.parent.store(span.parent, Ordering::Relaxed);
        self.present.store(span.present, Ordering::Relaxed);
        self.home.store(0, Ordering::Relaxed);
        self.first.store(0, Ordering::Relaxed);
        self.busy.store(0, Ordering::Relaxed);
        self.n_args.store(span.args.len() as u32, Ordering::Relaxed);
        let mut types = 0;
        for (n, (arg, word)) in span.args.iter().zip(&self.words).enumerate() {
            types |= (arg.kind as u64) << (4 * n);
            word.store(arg.word, Ordering::Relaxed);
        }
        self.types.store(types, Ordering::Relaxed);
        self.span.store(span.key.span, Ordering::Release);
    }

    /// Makes the slot free again: the span is closed. If the owner is still in it, [`leave`](Self::leave) does so.
    ///
    /// If another thread closes the span at the very moment when the owner leaves it, both may leave this to the other,
    /// and the slot stays in use. Excluding that would take a full fence for each exit.
    #[inline]
    pub(super) fn free(&self) {
        if self.n_entered.load(Ordering::Relaxed) == 0 {
            self.span.store(0, Ordering::Release);
        } else {
            self.is_closed.store(true, Ordering::Relaxed);
        }
    }

    /// Notes an entry. Only for the owner of the table.
    #[inline]
    pub(super) fn enter(&self) {
        self.n_entered.store(self.n_entered.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Notes the end of an entry. Only for the owner of the table.
    #[inline]
    pub(super) fn leave(&self) {
        self.n_entered.store(self.n_entered.load(Ordering::Relaxed).saturating_sub(1), Ordering::Relaxed);
        if self.is_closed.load(Ordering::Relaxed) {
            self.free();
        }
    }

    /// Returns the site of its slices.
    #[inline]
    pub(super) fn site(&self) -> Option<&'static Site> {
        // SAFETY: `fill` stored a pointer that it made from a `&'static Site`; before that it is null.
        unsafe { self.site.load(Ordering::Relaxed).as_ref() }
    }

    /// Returns the fields that have values.
    pub(super) fn present(&self) -> u64 {
        self.present.load(Ordering::Relaxed)
    }

    /// Returns the number of its arguments.
    #[inline]
    pub(super) fn n_args(&self) -> usize {
        self.n_args.load(Ordering::Relaxed) as usize
    }

    /// Returns its first `N` arguments.
    #[inline]
    pub(super) fn args<const N: usize>(&self) -> [Arg; N] {
        let types = self.types.load(Ordering::Relaxed);
        std::array::from_fn(|n| {
            let kind = Type::from_bits(types >> (4 * n) & 15).unwrap_or(Type::Lost);
            Arg::new(self.words[n].load(Ordering::Relaxed), kind)
        })
    }

    /// Returns true if its state has moved to a `Kept`, which has to be used from then on.
    #[inline]
    pub(super) fn is_promoted(&self) -> bool {
        self.is_promoted.load(Ordering::Acquire)
    }

    /// Notes that its state is in a `Kept`.
    pub(super) fn promote(&self) {
        self.is_promoted.store(true, Ordering::Release);
    }

    /// Notes the first entry. Only for the owner of the table.
    #[inline]
    pub(super) fn begin(&self, home: usize, first: u64, is_entered_at_once: bool) {
        self.is_entered_at_once.store(is_entered_at_once, Ordering::Relaxed);
        self.first.store(first, Ordering::Relaxed);
        // Pairs with `home`: a thread that sees the home sees the time.
        self.home.store(home, Ordering::Release);
    }

    /// Returns the thread that entered it first, 0 before that.
    #[inline]
    pub(super) fn home(&self) -> usize {
        self.home.load(Ordering::Acquire)
    }

    /// Returns the time of the first entry.
    pub(super) fn first(&self) -> u64 {
        self.first.load(Ordering::Relaxed)
    }

    /// Adds a time that it was entered. Only for the owner of the table.
    #[inline]
    pub(super) fn add_busy(&self, busy: u64) {
        let before = self.busy.load(Ordering::Relaxed);
        self.busy.store(before.wrapping_add(busy), Ordering::Relaxed);
    }

    /// Returns the time that it was entered, without entries since it was promoted.
    pub(super) fn busy(&self) -> u64 {
        self.busy.load(Ordering::Relaxed)
    }

    /// Returns true if another entry makes it a task, see the [module](super). `around` is the number of the span that
    /// the thread `here` is in.
    #[inline]
    pub(super) fn is_task(&self, here: usize, around: u64) -> bool {
        if self.n_args() > 0 || self.home() != here {
            return true;
        }
        let parent = self.parent.load(Ordering::Relaxed);
        parent == around && (parent != 0 || self.is_entered_at_once.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static SITE: Site = Site::new("part", "", &["n"]);

    fn slot(n_args: usize, parent: u64) -> Slot {
        let slot = Slot::default();
        let args = [Arg::new(7, Type::Unsigned); SLOT_ARGS];
        let key = SpanKey { layer: 1, span: 2 };
        slot.fill(&Created { key, site: &SITE, present: 1, args: &args[..n_args], parent });
        slot
    }

    #[test]
    fn a_slot_returns_the_span_that_was_stored() {
        let slot = slot(1, 0);
        assert!(slot.has(SpanKey { layer: 1, span: 2 }) && !slot.has(SpanKey { layer: 2, span: 2 }));
        let [arg] = slot.args::<1>();
        assert_eq!((arg.word, arg.kind), (7, Type::Unsigned));
        assert_eq!(slot.site().map(Site::name), Some("part"));
        slot.free();
        assert!(slot.is_free());
    }

    #[test]
    fn a_span_that_is_entered_again_inside_its_parent_is_a_task() {
        let is_task = |n_args, parent, at_once, here, around| {
            let slot = slot(n_args, parent);
            slot.begin(10, 1, at_once);
            slot.is_task(here, around)
        };
        assert!(is_task(0, 5, false, 10, 5));
        assert!(!is_task(0, 5, false, 10, 6), "entered inside another span, as a part of a model");
        assert!(is_task(0, 0, true, 10, 0));
        assert!(!is_task(0, 0, false, 10, 0), "created long before its first entry");
        assert!(is_task(1, 5, false, 10, 6), "it has fields");
        assert!(is_task(0, 5, false, 11, 6), "another thread");
    }
}
