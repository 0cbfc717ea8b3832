//! How a chunk is filled while others read it: the publication protocol.
//!
//! One thread at a time writes into a chunk. It stores the words of a record, then the chunk's new length; a reader loads
//! the length, then the words below it. Nothing else orders them, so these two are all there is to get right; `tests/
//! loom.rs` runs this very file under loom.

use ferrum_trace_format::spool::layout::{CHUNK_BYTES, chunk, state};
use std::sync::atomic::Ordering;

/// The words of a chunk.
pub trait ChunkMemory {
    /// Reads a word.
    fn load(&self, word: usize, order: Ordering) -> u64;
    /// Writes a word.
    fn store(&self, word: usize, value: u64, order: Ordering);
    /// Orders what is written before it before what is written after it.
    fn fence_release(&self) {
        std::sync::atomic::fence(Ordering::Release);
    }
}

/// Makes a chunk of zeros one that can be written to.
pub fn activate(memory: &impl ChunkMemory, magic: u64, index: u64, header_words: usize) {
    memory.store(chunk::LEN, 8 * header_words as u64, Ordering::Relaxed);
    memory.store(chunk::LIMIT, CHUNK_BYTES as u64, Ordering::Relaxed);
    memory.store(chunk::INDEX, index, Ordering::Relaxed);
    // Pairs with the reader's load of the magic word: who sees it sees the length.
    memory.store(chunk::MAGIC, magic, Ordering::Release);
}

/// Empties a chunk that nobody writes to, so that it can be written to again. Who reads it meanwhile looks at the generation before
/// and after, see `snapshot.rs`: what is odd or has changed is not to be used.
pub fn recycle(memory: &impl ChunkMemory) {
    let generation = memory.load(chunk::GENERATION, Ordering::Relaxed);
    memory.store(chunk::GENERATION, generation.wrapping_add(1), Ordering::Relaxed);
    // Pairs with the reader's fence: who sees anything that is written from here on sees that the generation is another.
    memory.fence_release();
    memory.store(chunk::LEN, 8 * chunk::HEADER_WORDS as u64, Ordering::Relaxed);
    memory.store(chunk::STATE, state::OPEN, Ordering::Relaxed);
    // Pairs with the reader's first load: who sees the new generation sees that the chunk is empty.
    memory.store(chunk::GENERATION, generation.wrapping_add(2), Ordering::Release);
}

/// Where the next record goes, in bytes.
#[inline(always)]
pub fn len(memory: &impl ChunkMemory) -> u64 {
    // Only the writer stores it, and the writer asks.
    memory.load(chunk::LEN, Ordering::Relaxed)
}

/// How many bytes there may be. Zero in a chunk that was taken away from its writer.
#[inline(always)]
pub fn limit(memory: &impl ChunkMemory) -> u64 {
    memory.load(chunk::LIMIT, Ordering::Relaxed)
}

/// The chunk's place in the file.
pub fn index(memory: &impl ChunkMemory) -> u64 {
    memory.load(chunk::INDEX, Ordering::Relaxed)
}

/// What the times of the current segment count from.
#[inline(always)]
pub fn base(memory: &impl ChunkMemory) -> u64 {
    memory.load(chunk::BASE, Ordering::Relaxed)
}

/// Remembers what times count from. For the writer alone: readers learn it from the segment's record.
pub fn set_base(memory: &impl ChunkMemory, ticks: u64) {
    memory.store(chunk::BASE, ticks, Ordering::Relaxed);
}

/// Stores one word of a record that begins at byte `at`.
#[inline(always)]
pub fn put(memory: &impl ChunkMemory, at: u64, n: usize, value: u64) {
    memory.store((at / 8) as usize + n, value, Ordering::Relaxed);
}

/// Makes all bytes below `len` visible.
#[inline(always)]
pub fn publish(memory: &impl ChunkMemory, len: u64) {
    // Pairs with the reader's load of the length: who sees it sees the words below it.
    memory.store(chunk::LEN, len, Ordering::Release);
}

/// Has the chunk's writer ask for another one at its next record.
pub fn revoke(memory: &impl ChunkMemory) {
    memory.store(chunk::LIMIT, 0, Ordering::Relaxed);
}

/// Says that nothing more will come. The length was published before.
pub fn close(memory: &impl ChunkMemory) {
    // Pairs with the reader's load of the state, which comes before that of the length.
    memory.store(chunk::STATE, state::CLOSED, Ordering::Release);
}
