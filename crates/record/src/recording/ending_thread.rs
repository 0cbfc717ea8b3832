//! Records of ending threads: their own chunk has been given back, but destructors still record.

use crate::memory::open_stacks::Owner;
use crate::memory::segment::MappedChunk;
use crate::memory::spool::MANY_THREADS;
use crate::recording::session::Session;
use crate::thread::buffer::{Held, ThreadBuffer};
use ferrum_trace_format::spool::thread_bytes;

/// Maximum length of a thread's name in a chunk of a ring.
const RING_NAME_BYTES: usize = 256;

impl Owner {
    /// Defines the thread in its chunk of a ring. Returns false if there is no room.
    pub(crate) fn define_in_chunk(&self, held: &Held<'_>) -> bool {
        let ends = (0..=self.name.len().min(RING_NAME_BYTES)).rev();
        let end = ends.into_iter().find(|&end| self.name.is_char_boundary(end)).unwrap_or(0);
        held.append_definition(thread_bytes(self.thread, self.os_id, &self.name[..end])).is_some()
    }
}

/// A chunk that all ending threads share, one record at a time.
#[derive(Default)]
pub(crate) struct EndingThreadWriter {
    buffer: ThreadBuffer,
    chunk: Option<MappedChunk>,
}

impl std::fmt::Debug for EndingThreadWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EndingThreadWriter").field("chunk", &self.chunk).finish_non_exhaustive()
    }
}

impl EndingThreadWriter {
    /// Calls `write` on behalf of a thread. Returns `None` if there is no room.
    pub(crate) fn write<T>(
        &mut self,
        session: &Session,
        owner: &Owner,
        write: impl Fn(&Held<'_>) -> Option<T>,
    ) -> Option<T> {
        let now = session.clock().now();
        let held = self.buffer.hold()?;
        let write_in = |chunk: &MappedChunk| {
            let has_room = held.set_chunk(chunk.words(), owner.thread, now)
                && (!session.spool().is_ring() || owner.define_in_chunk(&held));
            has_room.then(|| write(&held)).flatten()
        };
        if let Some(chunk) = &self.chunk {
            let written = write_in(chunk);
            if written.is_some() {
                return written;
            }
        }
        held.clear_chunk();
        if let Some(full) = self.chunk.take() {
            session.spool().put_full(full, MANY_THREADS);
        }
        let fresh = self.chunk.insert(session.fresh_chunk()?);
        write_in(fresh)
    }
}
