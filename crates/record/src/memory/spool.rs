//! The spool file as shared memory.
//!
//! The file begins small and grows by segments of 1 MiB. Each is reserved on the disk before it is mapped, so that a full disk is an
//! error here and not a signal later, and is mapped as a whole; chunks are handed out from it. A segment whose chunks are
//! full leaves the process's memory, the kernel keeps its pages.
#![allow(unsafe_code)]

use crate::memory::chunk;
use crate::memory::ring::Ring;
use crate::memory::segment::{MappedChunk, MappedSegment, WeakChunk};
use crate::os::clock;
use crate::os::file::reserve;
use crate::util::lock::lock;
use crossbeam_queue::ArrayQueue;
use ferrum_trace_format::spool::layout::{CHUNK_BYTES, StopReason, stop_reason, stop_word};
use ferrum_trace_model::settings::Extent;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::Duration;

/// Chunks that the file begins with: beginning must not take long.
const FIRST_CHUNKS: usize = 4;
/// Chunks that the file grows by.
const SEGMENT_CHUNKS: usize = 32;
/// The smallest limit: one segment.
const LIMIT_MIN: u64 = (SEGMENT_CHUNKS * CHUNK_BYTES) as u64;
/// Chunks that are kept ready at first, so that no thread waits for a page.
const READY_CHUNKS_MIN: usize = SEGMENT_CHUNKS;
/// Chunks that are kept ready for threads that used them up before: 24 MiB, or 15 ms of two threads at full speed, which
/// is longer than the thread that prepares them may have to wait for a processor.
const READY_CHUNKS_MAX: usize = 24 * SEGMENT_CHUNKS;
/// Full chunks that may wait for being let go of.
const FULL_CHUNKS: usize = 1024;
/// Chunks of threads that have ended, kept for the next thread to go on in.
const PARTIAL_CHUNKS: usize = 1024;
/// How long a thread waits for another that enlarges the spool before it counts its event as lost. Only a thread that
/// records faster than the disk takes it comes here at all, and to lose nothing is what it asked for.
const GROW_TIMEOUT: Duration = Duration::from_secs(1);
/// Between two looks at whether the other has done.
const GROW_PAUSE: Duration = Duration::from_micros(20);
/// Between two works of the thread that prepares chunks, while enough are ready.
const PREPARE_PAUSE: Duration = Duration::from_micros(100);
/// Stands for the thread of a chunk that several have written to.
pub const MANY_THREADS: u32 = 0;
/// Room that a chunk of a thread that ended must have to be used again.
const PARTIAL_ROOM: u64 = 4096;

/// The chunks of a spool, from the file to the threads and back.
#[derive(Debug)]
pub struct Spool {
    file: File,
    limit: u64,
    /// A [`StopReason`] once the file cannot grow any more.
    stopped: AtomicU64,
    growth: Mutex<Growth>,
    ready: ArrayQueue<MappedChunk>,
    /// How many chunks are to be kept ready: doubled whenever they run out.
    n_ready_target: AtomicUsize,
    partial: ArrayQueue<MappedChunk>,
    full: ArrayQueue<MappedChunk>,
    /// Where full chunks wait to be used again, if they are.
    ring: Option<Mutex<Ring>>,
    /// For how long they wait at least, if there is room.
    kept_nanos: u64,
    n_overwritten: AtomicU64,
}

#[derive(Debug)]
struct Growth {
    n_bytes: u64,
    /// Segments that may have a chunk in use, to be taken away from their writers at the end.
    segments: Vec<Arc<MappedSegment>>,
    /// Full chunks whose pages are still in memory, because others of the same segment are in use.
    resident: Vec<WeakChunk>,
}

impl Spool {
    /// Takes over an empty file. `limit` is raised to one segment if it is less.
    pub fn new(file: File, limit: u64, ring: Option<Extent>) -> Self {
        let growth = Growth { n_bytes: 0, segments: Vec::new(), resident: Vec::new() };
        let limit = limit.max(LIMIT_MIN);
        let kept_nanos = match ring {
            Some(Extent::Time(time)) => u64::try_from(time.as_nanos()).unwrap_or(u64::MAX),
            Some(Extent::Bytes(_)) | None => u64::MAX,
        };
        Self {
            ring: ring.map(|_| Mutex::new(Ring::new((limit / CHUNK_BYTES as u64) as usize))),
            kept_nanos,
            n_overwritten: AtomicU64::new(0),
            file,
            limit,
            stopped: AtomicU64::new(0),
            growth: Mutex::new(growth),
            ready: ArrayQueue::new(READY_CHUNKS_MAX + SEGMENT_CHUNKS),
            n_ready_target: AtomicUsize::new(READY_CHUNKS_MIN),
            partial: ArrayQueue::new(PARTIAL_CHUNKS),
            full: ArrayQueue::new(FULL_CHUNKS),
        }
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Bytes of the file.
    pub fn n_bytes(&self) -> u64 {
        lock(&self.growth).n_bytes
    }

    /// A chunk that nobody has written to yet. If none is ready, the file is enlarged here and now. `None` for the reason
    /// if another thread is at that for too long.
    pub fn take_fresh(&self) -> Result<MappedChunk, Option<StopReason>> {
        if let Some(chunk) = self.take_expired() {
            return Ok(chunk);
        }
        if let Some(chunk) = self.ready.pop() {
            return Ok(chunk);
        }
        if self.ring.is_some() && self.stopped().is_some() {
            return self.take_oldest().ok_or(None);
        }
        let more = |n: usize| Some((2 * n).min(READY_CHUNKS_MAX));
        let _ = self.n_ready_target.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        let mut growth = lock_with_timeout(&self.growth).ok_or(None)?;
        if let Some(chunk) = self.ready.pop() {
            return Ok(chunk);
        }
        match self.grow(&mut growth) {
            Ok(()) => self.ready.pop().ok_or(None),
            Err(reason) => self.take_oldest().ok_or(Some(reason)),
        }
    }

    /// A chunk of a ring that has been kept for as long as was asked for.
    fn take_expired(&self) -> Option<MappedChunk> {
        if self.kept_nanos == u64::MAX {
            return None;
        }
        self.take_used(clock::monotonic_nanos().saturating_sub(self.kept_nanos))
    }

    /// A chunk of a ring that has no room to keep it any longer.
    fn take_oldest(&self) -> Option<MappedChunk> {
        self.take_used(u64::MAX)
    }

    /// A chunk of a ring that was full before a time, emptied.
    fn take_used(&self, nanos: u64) -> Option<MappedChunk> {
        let chunk = lock(self.ring.as_ref()?).take_before(nanos)?;
        chunk::recycle(&chunk);
        self.n_overwritten.fetch_add(1, Ordering::Relaxed);
        Some(chunk)
    }

    /// A dump of a ring is asked for: what led to it stays until [`unpin`](Self::unpin), in half of the ring.
    pub fn pin(&self) {
        if let Some(ring) = &self.ring {
            lock(ring).pin();
        }
    }

    /// The dump has what it needs.
    pub fn unpin(&self) {
        if let Some(ring) = &self.ring {
            lock(ring).unpin();
        }
    }

    /// Whether full chunks are used again.
    pub fn is_ring(&self) -> bool {
        self.ring.is_some()
    }

    /// How many chunks were used again so far.
    pub fn n_overwritten(&self) -> u64 {
        self.n_overwritten.load(Ordering::Relaxed)
    }

    /// A chunk of a thread that has ended, if one with some room is left.
    pub fn take_partial(&self) -> Option<MappedChunk> {
        while let Some(chunk) = self.partial.pop() {
            if chunk::len(&chunk) + PARTIAL_ROOM <= CHUNK_BYTES as u64 {
                return Some(chunk);
            }
            self.put_full(chunk, MANY_THREADS);
        }
        None
    }

    /// Takes back a chunk of a thread that has ended. In a ring nobody goes on in it: what it has is as old as its thread.
    pub fn put_partial(&self, chunk: MappedChunk, thread: u32) {
        if let Some(ring) = &self.ring {
            self.put_full(chunk, thread);
            lock(ring).end(thread);
            return;
        }
        if let Err(chunk) = self.partial.push(chunk) {
            self.put_full(chunk, MANY_THREADS);
        }
    }

    /// Takes back a chunk that nobody will write to, and that a thread has filled. If too many wait for being let go of, its
    /// segment goes here.
    pub fn put_full(&self, chunk: MappedChunk, thread: u32) {
        chunk::close(&chunk);
        let chunk = match &self.ring {
            Some(ring) => lock(ring).put(chunk, thread, clock::monotonic_nanos()),
            None => Err(chunk),
        };
        if let Err(chunk) = chunk {
            let _ = self.full.push(chunk);
        }
    }

    /// True if a thread may soon find no chunk ready, and there are more to be had. A ring that is full has none.
    pub fn is_low(&self) -> bool {
        let is_full_ring = self.is_ring() && self.stopped().is_some();
        !is_full_ring && self.ready.len() < self.n_ready_target.load(Ordering::Relaxed) / 2
    }

    /// Makes chunks ready ahead of need, and lets go of the full ones.
    pub fn top_up(&self) {
        while self.ready.len() < self.n_ready_target.load(Ordering::Relaxed) {
            if self.grow(&mut lock(&self.growth)).is_err() {
                break;
            }
            self.unmap_full_segments();
            self.pause_unless_low();
        }
        self.unmap_full_segments();
    }

    /// Lets go of full chunks: a segment is unmapped with the last of its own.
    fn unmap_full_segments(&self) {
        let mut growth = lock(&self.growth);
        while let Some(chunk) = self.full.pop() {
            growth.resident.push(chunk.downgrade());
        }
        // One holder of a segment is this list.
        growth.segments.retain(|segment| Arc::strong_count(segment) > 1);
        growth.resident.retain(WeakChunk::is_mapped);
    }

    /// Gives the pages of full chunks back to the kernel, which keeps what is in them: those of segments that are still
    /// in use after some time, because a thread that records little has a chunk in them.
    pub fn release_full_pages(&self) {
        // Not in the loop's head, where the lock would be held for as long as the loop.
        let resident = std::mem::take(&mut lock(&self.growth).resident);
        for chunk in resident {
            chunk.release_pages();
            self.pause_unless_low();
        }
    }

    /// Leaves the processor to others for a moment, unless there is no time for that: a segment takes half a millisecond to make, and some
    /// in a row would be missed by a thread of the program that had the processor. To yield is not enough: whoever has just
    /// slept is the next again.
    fn pause_unless_low(&self) {
        if !self.is_low() {
            std::thread::sleep(PREPARE_PAUSE);
        }
    }

    /// Why the spool stopped growing, if it did.
    pub fn stopped(&self) -> Option<StopReason> {
        stop_reason(self.stopped.load(Ordering::Relaxed))
    }

    /// The same, if there is no chunk left either: asked for each event that is lost from then on.
    pub fn stopped_and_used_up(&self) -> Option<StopReason> {
        self.stopped().filter(|_| self.ready.is_empty())
    }

    /// Has the file grow no more. The first reason is the one that is told.
    fn stop(&self, reason: StopReason) {
        let _ = self.stopped.compare_exchange(0, stop_word(reason), Ordering::Relaxed, Ordering::Relaxed);
    }

    fn grow(&self, growth: &mut Growth) -> Result<(), StopReason> {
        if let Some(reason) = self.stopped() {
            return Err(reason);
        }
        match self.new_segment(growth.n_bytes) {
            Ok(segment) => {
                let segment = Arc::new(segment);
                growth.n_bytes += segment.n_bytes();
                for n in 0..segment.n_chunks() {
                    // The queue has room for what is ready and a segment more, so that none is lost here.
                    let _ = self.ready.push(MappedSegment::chunk(&segment, n));
                }
                growth.segments.push(segment);
                Ok(())
            }
            Err(reason) => {
                self.stop(reason);
                Err(reason)
            }
        }
    }

    fn new_segment(&self, offset: u64) -> Result<MappedSegment, StopReason> {
        let n_wanted = if offset == 0 { FIRST_CHUNKS } else { SEGMENT_CHUNKS };
        let n_allowed = self.limit.saturating_sub(offset) / CHUNK_BYTES as u64;
        let n_chunks = n_wanted.min(usize::try_from(n_allowed).unwrap_or(usize::MAX));
        if n_chunks == 0 {
            return Err(StopReason::Limit);
        }
        let len = n_chunks * CHUNK_BYTES;
        let segment = reserve(&self.file, offset, len as u64)
            // Writing through the file first gives large pages to map: a quarter of the time of faulting in small ones.
            .and_then(|()| write_zeros(&self.file, offset, len as u64))
            .and_then(|()| MappedSegment::map(&self.file, offset, len))
            .map_err(|error| match error.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StopReason::NoSpace,
                _ => StopReason::Io,
            })?;
        segment.populate();
        Ok(segment)
    }

    /// Has every writer ask for another chunk at its next record.
    pub fn close_chunks(&self) {
        for segment in &lock(&self.growth).segments {
            for n in 0..segment.n_chunks() {
                chunk::revoke(&MappedSegment::chunk(segment, n));
            }
        }
    }

    /// Cuts off the part of the file that nobody has written to. Chunks are handed out in order, so it is at the end,
    /// but for the few that threads took out of turn. Only for a process that ends or goes on without this spool.
    pub fn trim(&self) {
        let mut growth = lock(&self.growth);
        self.stop(StopReason::Io);
        let mut unused: Vec<u64> = std::iter::from_fn(|| self.ready.pop()).map(|chunk| chunk.index()).collect();
        unused.sort_unstable();
        while unused.last().is_some_and(|&last| (last + 1) * CHUNK_BYTES as u64 == growth.n_bytes) {
            unused.pop();
            growth.n_bytes -= CHUNK_BYTES as u64;
        }
        let _ = self.file.set_len(growth.n_bytes);
    }

    /// Takes all memory away from those who may still hold chunks: what they write from now on goes nowhere, and soon
    /// they ask for another chunk. To be called once, after which nothing is handed out.
    pub fn revoke(&self) {
        let mut growth = lock(&self.growth);
        self.stop(StopReason::Io);
        while self.ready.pop().is_some() || self.partial.pop().is_some() || self.full.pop().is_some() {}
        for segment in growth.segments.drain(..) {
            segment.revoke();
        }
    }

    /// In a forked child: gives up the file, and with it the parent's lock on it. Nothing else of this spool may be used
    /// there, not even dropped.
    pub fn abandon_in_child(&self) {
        #[cfg(unix)]
        {
            // The mappings hold the lock as well. Should another thread of the parent be enlarging the spool right now, they
            // stay, and the parent's path is taken until the child ends.
            let segments = self.growth.try_lock().map(|mut growth| std::mem::take(&mut growth.segments));
            for segment in segments.unwrap_or_default() {
                // SAFETY: nothing in the child uses this spool again: only the forking thread exists there, and its buffer
                // has been cleared.
                unsafe { segment.unmap_in_child() };
            }
            // SAFETY: the child has its own copy of the descriptor and never uses this spool again, so it is closed once.
            unsafe {
                libc::close(std::os::fd::AsRawFd::as_raw_fd(&self.file));
            }
        }
    }
}

/// The lock, unless whoever has it keeps it for very long: the host must not hang with us.
fn lock_with_timeout<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    let deadline = clock::monotonic_nanos() + GROW_TIMEOUT.as_nanos() as u64;
    loop {
        match mutex.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => std::thread::sleep(GROW_PAUSE),
        }
        if clock::monotonic_nanos() > deadline {
            return None;
        }
    }
}

fn write_zeros(file: &File, offset: u64, len: u64) -> io::Result<()> {
    static ZEROS: [u8; SEGMENT_CHUNKS * CHUNK_BYTES] = [0; SEGMENT_CHUNKS * CHUNK_BYTES];
    let mut at = offset;
    while at < offset + len {
        let n_bytes = ZEROS.len().min((offset + len - at) as usize);
        #[cfg(unix)]
        std::os::unix::fs::FileExt::write_all_at(file, &ZEROS[..n_bytes], at)?;
        #[cfg(windows)]
        std::os::windows::fs::FileExt::seek_write(file, &ZEROS[..n_bytes], at)?;
        at += n_bytes as u64;
    }
    Ok(())
}
