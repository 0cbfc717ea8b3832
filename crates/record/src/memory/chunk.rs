//! The publication protocol: how a thread fills a chunk while others read it.
//!
//! One thread at a time writes into a chunk. It stores the words of a record, then the chunk's new length; a reader
//! loads the length, then the words below it. Correctness depends only on the order of these two. `tests/loom.rs` runs
//! this same file under loom.
//!
//! The memory is a mapped file, so another process that has the file open can change any word of it at any time. No
//! value that is read back is used as a place without being bounded: [`len`] and [`limit`] mask what they load. Such a
//! process can spoil the records of the chunk, and nothing else.

use ferrum_trace_format::spool::layout::{CHUNK_BYTES, UNUSED_MAGIC, chunk, state};
use std::sync::atomic::Ordering;

/// Bits of a length: multiples of 8 below two chunks. A full chunk's length, which is [`CHUNK_BYTES`], is one of them.
const LEN_MASK: u64 = 2 * CHUNK_BYTES as u64 - 8;
const _: () = assert!(CHUNK_BYTES.is_power_of_two());

/// The words of a chunk.
pub(crate) trait ChunkMemory {
    /// Reads a word.
    fn load(&self, word: usize, order: Ordering) -> u64;
    /// Writes a word.
    fn store(&self, word: usize, value: u64, order: Ordering);
    /// Orders stores before it before stores after it.
    fn fence_release(&self) {
        std::sync::atomic::fence(Ordering::Release);
    }
}

/// Marks a zeroed chunk as reserved and not used.
pub(crate) fn mark_unused(memory: &impl ChunkMemory) {
    memory.store(chunk::MAGIC, UNUSED_MAGIC, Ordering::Release);
}

/// Makes an unused chunk writable.
pub(crate) fn activate(memory: &impl ChunkMemory, magic: u64, index: u64, header_words: usize) {
    memory.store(chunk::LEN, 8 * header_words as u64, Ordering::Relaxed);
    memory.store(chunk::LIMIT, CHUNK_BYTES as u64, Ordering::Relaxed);
    memory.store(chunk::INDEX, index, Ordering::Relaxed);
    // Pairs with the reader's load of the magic word: a reader that sees it sees the length.
    memory.store(chunk::MAGIC, magic, Ordering::Release);
}

/// Empties a chunk without a writer, so that it can be written again. A concurrent reader loads the generation before
/// and after it reads, see `snapshot.rs`: if it is odd or has changed, the data must not be used.
pub(crate) fn recycle(memory: &impl ChunkMemory) {
    let generation = memory.load(chunk::GENERATION, Ordering::Relaxed);
    memory.store(chunk::GENERATION, generation.wrapping_add(1), Ordering::Relaxed);
    // Pairs with the reader's fence: a reader that sees any later store sees that the generation has changed.
    memory.fence_release();
    memory.store(chunk::LEN, 8 * chunk::HEADER_WORDS as u64, Ordering::Relaxed);
    memory.store(chunk::STATE, state::OPEN, Ordering::Relaxed);
    // Pairs with the reader's first load: a reader that sees the new generation sees that the chunk is empty.
    memory.store(chunk::GENERATION, generation.wrapping_add(2), Ordering::Release);
}

/// Returns the length in bytes, which is the offset of the next record: a multiple of 8 below two chunks, whatever is
/// in the memory. A record that ends at or below the [`limit`] is within the chunk.
#[inline(always)]
pub(crate) fn len(memory: &impl ChunkMemory) -> u64 {
    // Relaxed is enough: only the writer stores it, and only the writer calls this.
    memory.load(chunk::LEN, Ordering::Relaxed) & LEN_MASK
}

/// Returns the maximum length in bytes: the size of a chunk, or zero in a chunk that was taken away from its writer.
#[inline(always)]
pub(crate) fn limit(memory: &impl ChunkMemory) -> u64 {
    // The size is a power of two, so that no other value passes.
    memory.load(chunk::LIMIT, Ordering::Relaxed) & CHUNK_BYTES as u64
}

/// Returns the chunk's position in the file.
pub(crate) fn index(memory: &impl ChunkMemory) -> u64 {
    memory.load(chunk::INDEX, Ordering::Relaxed)
}

/// Returns the base that times of the current segment are relative to.
#[inline(always)]
pub(crate) fn base(memory: &impl ChunkMemory) -> u64 {
    memory.load(chunk::BASE, Ordering::Relaxed)
}

/// Stores the base of times. For the writer alone: readers take it from the segment's record.
pub(crate) fn set_base(memory: &impl ChunkMemory, ticks: u64) {
    memory.store(chunk::BASE, ticks, Ordering::Relaxed);
}

/// Stores one word of a record that begins at byte `at`.
#[inline(always)]
pub(crate) fn put(memory: &impl ChunkMemory, at: u64, n: usize, value: u64) {
    memory.store((at / 8) as usize + n, value, Ordering::Relaxed);
}

/// Makes all bytes below `len` visible.
#[inline(always)]
pub(crate) fn publish(memory: &impl ChunkMemory, len: u64) {
    // Pairs with the reader's load of the length: a reader that sees it sees the words below it.
    memory.store(chunk::LEN, len, Ordering::Release);
}

/// Makes the chunk's writer request another chunk at its next record.
pub(crate) fn revoke(memory: &impl ChunkMemory) {
    memory.store(chunk::LIMIT, 0, Ordering::Relaxed);
}

/// Marks the chunk as complete. The length was published before.
pub(crate) fn close(memory: &impl ChunkMemory) {
    // Pairs with the reader's load of the state, which precedes that of the length.
    memory.store(chunk::STATE, state::CLOSED, Ordering::Release);
}
