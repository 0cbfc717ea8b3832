//! Per-thread cache of entered spans: a lookup in the registry takes longer than recording a span.
//!
//! The registry reuses the numbers of closed spans. So every close is counted, in one of many counters chosen by the
//! span's number, and an entry from another count is invalid. A thread that enters a new span with an old number
//! learned of it after the old span was closed, so it sees the new count.

use super::kept::Kept;
use super::span_key::SpanKey;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Number of entries: enough for the spans of a model's step.
const ENTRIES: usize = 1 << ENTRIES_BITS;
const ENTRIES_BITS: u32 = 9;

static N_CLOSED: [AtomicU32; ENTRIES] = [const { AtomicU32::new(0) }; ENTRIES];

struct Entry {
    key: SpanKey,
    n_closed: u32,
    kept: Arc<Kept>,
}

thread_local! {
    static CACHE: RefCell<Vec<Option<Entry>>> = const { RefCell::new(Vec::new()) };
}

/// Calls `work` with a span, which is looked up if the thread has not cached it. Returns `None` if it is not found.
#[inline]
pub(super) fn with<R>(key: SpanKey, look_up: impl Fn() -> Option<Arc<Kept>>, work: impl Fn(&Kept) -> R) -> Option<R> {
    let place = place_of(key);
    let known = CACHE.try_with(|cache| {
        let cache = cache.try_borrow().ok()?;
        let entry = cache.get(place)?.as_ref()?;
        (entry.key == key && entry.n_closed == N_CLOSED[place].load(Ordering::Relaxed)).then(|| work(&entry.kept))
    });
    match known {
        Ok(Some(result)) => Some(result),
        _ => with_unknown(key, place, look_up()?, work),
    }
}

#[cold]
fn with_unknown<R>(key: SpanKey, place: usize, kept: Arc<Kept>, work: impl Fn(&Kept) -> R) -> Option<R> {
    let result = work(&kept);
    let entry = Entry { key, n_closed: N_CLOSED[place].load(Ordering::Relaxed), kept };
    let _ = CACHE.try_with(|cache| {
        // In a signal handler that interrupted this code, or on an ending thread, nothing is cached.
        let Ok(mut cache) = cache.try_borrow_mut() else {
            return;
        };
        if cache.is_empty() {
            cache.resize_with(ENTRIES, || None);
        }
        // The previous entry is dropped after the borrow has ended.
        let before = cache[place].replace(entry);
        drop(cache);
        drop(before);
    });
    Some(result)
}

/// Invalidates a closed span: its number may be reused.
pub(super) fn forget(key: SpanKey) {
    N_CLOSED[place_of(key)].fetch_add(1, Ordering::Relaxed);
}

/// Returns the entry of a span. Consecutive numbers get different entries.
#[inline]
fn place_of(key: SpanKey) -> usize {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    (key.span.wrapping_mul(GOLDEN) >> (u64::BITS - ENTRIES_BITS)) as usize
}
