//! The full chunks of a flight recorder, and which of them is used again next.
//!
//! The oldest one goes, but of each living thread the last few stay as long as others have more: a thread that records much does
//! not push out the last moments of one that records little. All memory is there from the beginning, since chunks are put here by threads that
//! must not allocate.

use crate::spool::MappedChunk;
use std::time::Duration;

/// Full chunks of each living thread that stay as long as others have more, besides the one it writes to.
const CHUNKS_KEPT: u32 = 2;

/// What a flight recorder keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// As much as there is room for.
    Bytes(u64),
    /// At least so long, if there is room for that.
    Time(Duration),
}

/// The full chunks of a spool.
#[derive(Debug)]
pub struct Ring {
    /// By their place in the file.
    chunks: Vec<Option<Full>>,
    queues: Vec<Queue>,
}

#[derive(Debug)]
struct Full {
    chunk: MappedChunk,
    /// When it was put here.
    nanos: u64,
    /// The next one of the same thread.
    next: Option<u32>,
}

/// The chunks of one thread, oldest first.
#[derive(Clone, Copy, Debug)]
struct Queue {
    thread: u32,
    first: u32,
    last: u32,
    len: u32,
    /// Whether the thread may come with more.
    is_alive: bool,
}

impl Ring {
    /// Room for so many chunks.
    pub fn new(n_chunks: usize) -> Self {
        let mut chunks = Vec::new();
        chunks.resize_with(n_chunks, || None);
        // A thread without chunks has no queue.
        Self { chunks, queues: Vec::with_capacity(n_chunks) }
    }

    /// Keeps a full chunk. One that has no place, as in no ring it should, is given back.
    pub fn put(&mut self, chunk: MappedChunk, thread: u32, nanos: u64) -> Result<(), MappedChunk> {
        let place = chunk.index() as u32;
        let Some(slot) = self.chunks.get_mut(place as usize).filter(|slot| slot.is_none()) else {
            return Err(chunk);
        };
        *slot = Some(Full { chunk, nanos, next: None });
        match self.queues.iter_mut().find(|queue| queue.thread == thread) {
            Some(queue) => {
                let last = std::mem::replace(&mut queue.last, place);
                queue.len += 1;
                if let Some(Some(last)) = self.chunks.get_mut(last as usize) {
                    last.next = Some(place);
                }
            }
            None => self.queues.push(Queue { thread, first: place, last: place, len: 1, is_alive: true }),
        }
        Ok(())
    }

    /// A thread has ended, and its chunks are as good as any.
    pub fn end(&mut self, thread: u32) {
        if let Some(queue) = self.queues.iter_mut().find(|queue| queue.thread == thread) {
            queue.is_alive = false;
        }
    }

    /// Takes the chunk that is to be used again, if it was put here before `nanos`.
    pub fn take_before(&mut self, nanos: u64) -> Option<MappedChunk> {
        let is_free = |queue: &Queue| !queue.is_alive || queue.len > CHUNKS_KEPT;
        let n = self.oldest(is_free).or_else(|| self.oldest(|_| true))?;
        let place = self.queues[n].first as usize;
        if self.chunks[place].as_ref()?.nanos >= nanos {
            return None;
        }
        let full = self.chunks[place].take()?;
        let queue = &mut self.queues[n];
        queue.len -= 1;
        match full.next {
            Some(next) => queue.first = next,
            None => drop(self.queues.swap_remove(n)),
        }
        Some(full.chunk)
    }

    /// Among some threads, that with the oldest chunk.
    fn oldest(&self, is_asked: impl Fn(&Queue) -> bool) -> Option<usize> {
        let nanos = |queue: &Queue| self.chunks[queue.first as usize].as_ref().map_or(u64::MAX, |full| full.nanos);
        let asked = self.queues.iter().enumerate().filter(|(_, queue)| is_asked(queue));
        asked.min_by_key(|(_, queue)| nanos(queue)).map(|(n, _)| n)
    }
}
