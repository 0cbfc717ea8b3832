//! The slots of open spans: how a thread fills and empties them while others read.
//!
//! A slot's head is zero while the slot is empty. It is stored after all other words when a span begins, and it is the
//! only word that is stored when the span ends. A reader reads the slot twice and uses it if both reads agree. Starts
//! of one thread only grow, so two reads with the same start are of the same span. `tests/loom.rs` runs this same file
//! under loom.

use crate::memory::chunk::ChunkMemory;
use ferrum_trace_format::spool::layout::open_spans::{ARGS, ARGS_MAX, HEAD, LIMIT, LINE_WORDS, START, head};
use std::sync::atomic::Ordering;

/// Returns the number of levels that may be used: that of the stack, or zero for a stack that was taken away from its
/// thread. `n_levels` is the stack's number of levels; the word in the stack, which another process may change, can
/// only make it smaller.
#[inline(always)]
pub(crate) fn limit(stack: &impl ChunkMemory, n_levels: u64) -> u64 {
    stack.load(LIMIT, Ordering::Relaxed) & n_levels
}

/// Returns the first word of a level's slot.
#[inline(always)]
const fn slot(level: usize) -> usize {
    LINE_WORDS * (1 + level)
}

/// Fills the slot of a span that begins. `args` gives type and word of each argument; arguments beyond the sixth are
/// left out.
#[inline(always)]
pub(crate) fn fill(
    stack: &impl ChunkMemory,
    level: usize,
    site: u32,
    start: u64,
    args: impl ExactSizeIterator<Item = (u64, u64)>,
) {
    let slot = slot(level);
    let n_args = args.len().min(ARGS_MAX);
    // Orders the last end of this slot before the following stores: a reader that sees the new start sees no older
    // head.
    stack.fence_release();
    stack.store(slot + START, start, Ordering::Relaxed);
    let mut types = 0;
    for (n, (kind, word)) in args.take(n_args).enumerate() {
        types |= kind << (4 * n);
        stack.store(slot + ARGS + n, word, Ordering::Relaxed);
    }
    // Pairs with the reader's load of the head: a reader that sees it sees the words beside it.
    stack.store(slot + HEAD, head(site, n_args, types), Ordering::Release);
}

/// Empties the slot of a span that has ended.
#[inline(always)]
pub(crate) fn empty(stack: &impl ChunkMemory, level: usize) {
    // After the span's record: a reader that finds the slot empty finds the record.
    stack.store(slot(level) + HEAD, 0, Ordering::Release);
}

/// Returns true if a span is open at a level.
pub(crate) fn is_filled(stack: &impl ChunkMemory, level: usize) -> bool {
    stack.load(slot(level) + HEAD, Ordering::Relaxed) != 0
}

/// Copies one slot of a stack that its thread no longer changes.
pub(crate) fn copy(from: &impl ChunkMemory, to: &impl ChunkMemory, level: usize) {
    let slot = slot(level);
    let head = from.load(slot + HEAD, Ordering::Acquire);
    for word in (0..LINE_WORDS).filter(|&word| word != HEAD) {
        to.store(slot + word, from.load(slot + word, Ordering::Relaxed), Ordering::Relaxed);
    }
    to.store(slot + HEAD, head, Ordering::Release);
}
