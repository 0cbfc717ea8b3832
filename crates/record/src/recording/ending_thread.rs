//! Records of ending threads: their own chunk has been given back, but destructors still record.

use crate::memory::segment::MappedChunk;
use crate::memory::spool::MANY_THREADS;
use crate::recording::session::Session;
use crate::thread::buffer::{Held, ThreadBuffer};

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
    /// Calls `write` on behalf of `thread`. `define` defines the thread in its chunk, if the spool is a ring. Returns
    /// `None` if there is no room.
    pub(crate) fn write<T>(
        &mut self,
        session: &Session,
        thread: u32,
        define: impl Fn(&Held<'_>) -> bool,
        write: impl Fn(&Held<'_>) -> Option<T>,
    ) -> Option<T> {
        let now = session.clock().now();
        let held = self.buffer.hold()?;
        let write_in = |chunk: &MappedChunk| {
            let has_room = held.set_chunk(chunk.words(), thread, now) && define(&held);
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
