//! The spans that a thread has entered lately: looking one up in the registry takes longer than recording it.
//!
//! The registry uses the numbers of closed spans again. So every closing is counted, in one of many counters that the span's
//! number chooses, and what was remembered at another count is forgotten. A thread that enters a new span with an old number
//! was told of it after the old one was closed, so it sees the new count.

use super::kept::Kept;
use super::span_key::SpanKey;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// As many spans as a model's step may enter.
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

/// Does something with a span, which is looked up if the thread does not remember it. `None` if it is not to be found.
#[inline]
pub fn with<R>(key: SpanKey, look_up: impl Fn() -> Option<Arc<Kept>>, work: impl Fn(&Kept) -> R) -> Option<R> {
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
        // A signal handler that interrupted us, or a thread that is ending, does without.
        let Ok(mut cache) = cache.try_borrow_mut() else {
            return;
        };
        if cache.is_empty() {
            cache.resize_with(ENTRIES, || None);
        }
        // What was there is dropped when nothing is borrowed any more.
        let before = cache[place].replace(entry);
        drop(cache);
        drop(before);
    });
    Some(result)
}

/// A span is closed: its number may soon be that of another.
pub fn forget(key: SpanKey) {
    N_CLOSED[place_of(key)].fetch_add(1, Ordering::Relaxed);
}

/// Numbers that follow each other get places of their own.
#[inline]
fn place_of(key: SpanKey) -> usize {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    (key.span.wrapping_mul(GOLDEN) >> (u64::BITS - ENTRIES_BITS)) as usize
}
