//! The spool file as shared memory, and the hand-over of its chunks between threads.
//!
//! The file begins small and grows by segments of 1 MiB. A segment is reserved on the disk before it is mapped, so that
//! a full disk is an error here and not a signal later. It is mapped as a whole and divided into chunks. A chunk has
//! one owner at a time: a queue or a thread.
//!
//! ```text
//!         grow             take_fresh              put_full
//!  file ────────▶ ready ──────────────▶ thread ───────────────▶ full ────▶ unmapped with the last
//!                                        ▲  │                              chunk of its segment
//!                           take_partial │  │ put_partial: the thread ends
//!                                        │  ▼
//!                                      partial
//!
//!  in a ring:     take_fresh, take_partial      put_full, put_partial
//!                 ring ──────────────────▶ thread ──────────────────▶ ring
//! ```
//!
//! The keeper thread (`recording/keeper.rs`) fills `ready` ahead of need and empties `full`; the kernel keeps the
//! content of pages that are unmapped. A thread that finds `ready` empty enlarges the file itself. A ring grows up to
//! its limit too; then, or when a chunk is older than the time that is kept, `take_fresh` takes the oldest chunk of the
//! ring and empties it.
#![allow(unsafe_code)]

use crate::memory::chunk;
use crate::memory::ring::Ring;
use crate::memory::segment::{Counter, MappedChunk, MappedSegment, WeakChunk};
use crate::os::clock;
use crate::os::file::reserve;
use crate::os::file_size;
use crate::util::lock::{lock, lock_for_event};
use crossbeam_queue::ArrayQueue;
use ferrum_trace_format::spool::layout::{CHUNK_BYTES, StopReason, stop_reason, stop_word};
use ferrum_trace_model::settings::Extent;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// Chunks that the file begins with: few, so that the start is fast.
const FIRST_CHUNKS: usize = 4;
/// Chunks that the file grows by.
const SEGMENT_CHUNKS: usize = 32;
/// The smallest limit: one segment.
const LIMIT_MIN: u64 = (SEGMENT_CHUNKS * CHUNK_BYTES) as u64;
/// Initial number of chunks that are kept ready, so that no thread waits for a page.
const READY_CHUNKS_MIN: usize = SEGMENT_CHUNKS;
/// Maximum number of chunks that are kept ready, reached if threads keep using them up. 24 MiB last for 15 ms of two
/// threads at full speed, which is longer than the keeper may have to wait for a processor.
const READY_CHUNKS_MAX: usize = 24 * SEGMENT_CHUNKS;
/// Capacity of the queue of full chunks.
const FULL_CHUNKS: usize = 1024;
/// Capacity of the queue of chunks of ended threads, in which the next thread continues.
const PARTIAL_CHUNKS: usize = 1024;
/// Number of segments for which memory is allocated ahead of need: 64 MiB of events.
const SPARE_SEGMENTS: usize = 64;
/// Interval at which the keeper tries again to enlarge the file after that has failed, for example on a full disk.
pub(crate) const GROW_RETRY: Duration = Duration::from_millis(250);
/// Pause of the keeper between two segments, while enough chunks are ready.
const PREPARE_PAUSE: Duration = Duration::from_micros(100);
/// Thread number of a chunk that several threads have written to.
pub(crate) const MANY_THREADS: u32 = 0;
/// Minimum room in a chunk of an ended thread for another thread to continue in it.
const PARTIAL_ROOM: u64 = 4096;

/// The file of a spool, and its chunks that no thread owns.
#[derive(Debug)]
pub(crate) struct Spool {
    file: File,
    limit: u64,
    /// A [`StopReason`] while the file cannot grow.
    stopped: AtomicU64,
    /// True if another process cut the file, and data with it.
    is_cut: Arc<AtomicBool>,
    growth: Mutex<Growth>,
    ready: ArrayQueue<MappedChunk>,
    /// Number of chunks to keep ready. Doubled whenever they run out.
    n_ready_target: AtomicUsize,
    partial: ArrayQueue<MappedChunk>,
    full: ArrayQueue<MappedChunk>,
    /// Full chunks of a flight recorder, which are used again.
    ring: Option<Mutex<Ring>>,
    /// Minimum time that they are kept, if there is room.
    kept_nanos: u64,
    n_overwritten: AtomicU64,
    /// Number of chunks that have been handed out, in the file header.
    n_used: OnceLock<Counter>,
}

#[derive(Debug)]
struct Growth {
    n_bytes: u64,
    /// True when the file must not grow any more, because the recording has ended.
    is_over: bool,
    /// Segments that may have a chunk in use. They are revoked at the end.
    segments: Vec<Arc<MappedSegment>>,
    /// Memory for the next segments: a signal handler that enlarges the file may have interrupted the allocator.
    spares: Vec<Arc<MappedSegment>>,
    /// Full chunks whose pages are still in memory, because other chunks of the same segment are in use.
    resident: Vec<WeakChunk>,
}

impl Growth {
    /// Moves a segment to shared memory, which was allocated before if possible.
    fn place(&mut self, segment: MappedSegment) -> Arc<MappedSegment> {
        let Some(mut spare) = self.spares.pop() else {
            return Arc::new(segment);
        };
        match Arc::get_mut(&mut spare) {
            Some(place) => *place = segment,
            None => return Arc::new(segment),
        }
        spare
    }
}

impl Spool {
    /// Creates a spool in an empty file. `limit` is raised to one segment if it is less.
    pub(crate) fn new(file: File, limit: u64, ring: Option<Extent>) -> Self {
        let spares = std::iter::repeat_with(Arc::default).take(SPARE_SEGMENTS).collect();
        let segments = Vec::with_capacity(2 * SPARE_SEGMENTS);
        let growth = Growth { n_bytes: 0, is_over: false, segments, spares, resident: Vec::new() };
        let limit = limit.max(LIMIT_MIN);
        let kept_nanos = match ring {
            Some(Extent::Time(time)) => u64::try_from(time.as_nanos()).unwrap_or(u64::MAX),
            Some(Extent::Bytes(_)) | None => u64::MAX,
        };
        Self {
            ring: ring.map(|_| Mutex::new(Ring::new((limit / CHUNK_BYTES as u64) as usize))),
            kept_nanos,
            n_overwritten: AtomicU64::new(0),
            n_used: OnceLock::new(),
            file,
            limit,
            stopped: AtomicU64::new(0),
            is_cut: Arc::default(),
            growth: Mutex::new(growth),
            ready: ArrayQueue::new(READY_CHUNKS_MAX + SEGMENT_CHUNKS),
            n_ready_target: AtomicUsize::new(READY_CHUNKS_MIN),
            partial: ArrayQueue::new(PARTIAL_CHUNKS),
            full: ArrayQueue::new(FULL_CHUNKS),
        }
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Returns the largest length of the file.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Returns the length of the file.
    pub(crate) fn n_bytes(&self) -> u64 {
        lock(&self.growth).n_bytes
    }

    /// Counts the chunks that are handed out in a word of the file header, from which readers know which chunks of a
    /// damaged file are missing.
    pub(crate) fn count_used_in(&self, n_used: Counter) {
        // The header itself has been handed out.
        n_used.raise_to(1);
        let _ = self.n_used.set(n_used);
    }

    /// Takes an empty chunk. If none is ready, enlarges the file on the calling thread. The error is `None` if another
    /// thread takes too long to enlarge it.
    pub(crate) fn take_fresh(&self) -> Result<MappedChunk, Option<StopReason>> {
        let fresh = self.take_empty()?;
        if let Some(n_used) = self.n_used.get() {
            n_used.raise_to(fresh.index() + 1);
        }
        Ok(fresh)
    }

    fn take_empty(&self) -> Result<MappedChunk, Option<StopReason>> {
        if self.is_cut.load(Ordering::Relaxed) {
            return Err(Some(StopReason::Truncated));
        }
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
        let mut growth = lock_for_event(&self.growth).ok_or(None)?;
        if let Some(chunk) = self.ready.pop() {
            return Ok(chunk);
        }
        match self.grow(&mut growth) {
            Ok(()) => self.ready.pop().ok_or(None),
            Err(reason) => self.take_oldest().ok_or(Some(reason)),
        }
    }

    /// Takes the oldest chunk of a ring if it has been kept for the configured time.
    fn take_expired(&self) -> Option<MappedChunk> {
        if self.kept_nanos == u64::MAX {
            return None;
        }
        self.take_used(clock::monotonic_nanos().saturating_sub(self.kept_nanos))
    }

    /// Takes the oldest chunk of a ring that has no room left.
    fn take_oldest(&self) -> Option<MappedChunk> {
        self.take_used(u64::MAX)
    }

    /// Takes a chunk of a ring that was full before a time, and empties it.
    fn take_used(&self, nanos: u64) -> Option<MappedChunk> {
        let chunk = lock(self.ring.as_ref()?).take_before(nanos)?;
        chunk::recycle(&chunk);
        self.n_overwritten.fetch_add(1, Ordering::Relaxed);
        Some(chunk)
    }

    /// Pins the chunks of a ring for a pending dump: they stay until [`unpin`](Self::unpin), in half of the ring.
    pub(crate) fn pin(&self) {
        if let Some(ring) = &self.ring {
            lock(ring).pin();
        }
    }

    /// Unpins the chunks of a ring: the dump has been copied.
    pub(crate) fn unpin(&self) {
        if let Some(ring) = &self.ring {
            lock(ring).unpin();
        }
    }

    /// Returns true if full chunks are used again.
    pub(crate) fn is_ring(&self) -> bool {
        self.ring.is_some()
    }

    /// Returns the number of chunks that were used again so far.
    pub(crate) fn n_overwritten(&self) -> u64 {
        self.n_overwritten.load(Ordering::Relaxed)
    }

    /// Takes a chunk of an ended thread, if one has enough room.
    pub(crate) fn take_partial(&self) -> Option<MappedChunk> {
        if let Some(ring) = &self.ring {
            return lock(ring).take_with_room();
        }
        while let Some(chunk) = self.partial.pop() {
            if has_room(&chunk) {
                return Some(chunk);
            }
            self.put_full(chunk, MANY_THREADS);
        }
        None
    }

    /// Takes back the chunk of a thread that ends. In a ring it may be overwritten from now on.
    pub(crate) fn put_partial(&self, chunk: MappedChunk, thread: u32) {
        if let Some(ring) = &self.ring {
            let has_room = has_room(&chunk);
            if !has_room {
                chunk::close(&chunk);
            }
            if let Err(chunk) = lock(ring).put_last(chunk, thread, clock::monotonic_nanos(), has_room) {
                let _ = self.full.push(chunk);
            }
            return;
        }
        if let Err(chunk) = self.partial.push(chunk) {
            self.put_full(chunk, MANY_THREADS);
        }
    }

    /// Takes back a chunk that `thread` has filled. If the queue of full chunks is full, the chunk is dropped, and its
    /// pages stay in memory until its segment is unmapped.
    pub(crate) fn put_full(&self, chunk: MappedChunk, thread: u32) {
        chunk::close(&chunk);
        let chunk = match &self.ring {
            Some(ring) => lock(ring).put(chunk, thread, clock::monotonic_nanos()),
            None => Err(chunk),
        };
        if let Err(chunk) = chunk {
            let _ = self.full.push(chunk);
        }
    }

    /// Returns true if a thread may soon find no chunk ready, and the file can grow. A full ring cannot.
    pub(crate) fn is_low(&self) -> bool {
        let is_full_ring = self.is_ring() && self.stopped().is_some();
        !is_full_ring && self.ready.len() < self.n_ready_target.load(Ordering::Relaxed) / 2
    }

    /// Prepares chunks ahead of need, and unmaps segments whose chunks are all full.
    pub(crate) fn top_up(&self) {
        self.prepare_spares();
        while self.ready.len() < self.n_ready_target.load(Ordering::Relaxed) {
            if self.grow(&mut lock(&self.growth)).is_err() {
                break;
            }
            self.unmap_full_segments();
            self.pause_unless_low();
        }
        self.unmap_full_segments();
        self.prepare_spares();
    }

    /// Allocates the memory that threads need to enlarge the file. The lock is not held meanwhile.
    fn prepare_spares(&self) {
        let (n_spares, n_segments) = {
            let growth = lock(&self.growth);
            if growth.spares.len() == SPARE_SEGMENTS
                && growth.segments.capacity() >= growth.segments.len() + SPARE_SEGMENTS
            {
                return;
            }
            (growth.spares.len(), growth.segments.len())
        };
        let missing = SPARE_SEGMENTS.saturating_sub(n_spares);
        let mut spares: Vec<_> = std::iter::repeat_with(Arc::default).take(missing).collect();
        let mut segments = Vec::with_capacity(n_segments + 2 * SPARE_SEGMENTS);
        {
            let mut growth = lock(&self.growth);
            let room = growth.spares.capacity().saturating_sub(growth.spares.len());
            growth.spares.extend(spares.drain(..missing.min(room)));
            let is_short = growth.segments.capacity() < growth.segments.len() + SPARE_SEGMENTS;
            if is_short && growth.segments.len() <= segments.capacity() {
                segments.append(&mut growth.segments);
                std::mem::swap(&mut growth.segments, &mut segments);
            }
        }
    }

    /// Drops full chunks. A segment is unmapped with its last chunk.
    fn unmap_full_segments(&self) {
        let mut growth = lock(&self.growth);
        while let Some(chunk) = self.full.pop() {
            growth.resident.push(chunk.downgrade());
        }
        // A count of one is this list alone.
        growth.segments.retain(|segment| Arc::strong_count(segment) > 1);
        growth.resident.retain(WeakChunk::is_mapped);
    }

    /// Gives the pages of full chunks back to the kernel, which keeps their content. Concerns segments that stay mapped
    /// because a thread that records little still has a chunk in them.
    pub(crate) fn release_full_pages(&self) {
        // Not in the head of the loop, which would hold the lock until its end.
        let resident = std::mem::take(&mut lock(&self.growth).resident);
        for chunk in resident {
            chunk.release_pages();
            self.pause_unless_low();
        }
    }

    /// Leaves the processor to other threads for a moment, unless chunks run low. Preparing a segment takes half a
    /// millisecond, and several in a row would delay a thread of the program on the same processor. Yielding is not
    /// enough: the scheduler would choose this thread again, since it has just slept.
    fn pause_unless_low(&self) {
        if !self.is_low() {
            std::thread::sleep(PREPARE_PAUSE);
        }
    }

    /// Returns true if the file cannot grow at present, for a reason that may pass.
    pub(crate) fn may_resume(&self) -> bool {
        matches!(self.stopped(), Some(StopReason::NoSpace | StopReason::Io))
    }

    /// Tries again to enlarge the file. If that succeeds, recording continues. Called by the keeper, so that an event
    /// that is lost meanwhile costs no attempt.
    pub(crate) fn try_to_resume(&self) {
        let mut growth = lock(&self.growth);
        if !growth.is_over && self.may_resume() && self.enlarge(&mut growth).is_ok() {
            self.stopped.store(0, Ordering::Relaxed);
        }
    }

    /// Returns the reason why the spool does not grow, if it does not.
    pub(crate) fn stopped(&self) -> Option<StopReason> {
        if self.is_cut.load(Ordering::Relaxed) {
            return Some(StopReason::Truncated);
        }
        stop_reason(self.stopped.load(Ordering::Relaxed))
    }

    /// Returns the reason why the spool does not grow, if no chunk is left either. Called for each event that is lost.
    pub(crate) fn stopped_and_used_up(&self) -> Option<StopReason> {
        self.stopped().filter(|&reason| reason == StopReason::Truncated || self.ready.is_empty())
    }

    /// Returns the expected and the actual length of the file, if another process has cut it.
    pub(crate) fn cut(&self) -> Option<(u64, u64)> {
        let expected = self.n_bytes();
        let actual = self.file.metadata().ok()?.len();
        if actual < expected {
            self.is_cut.store(true, Ordering::Relaxed);
        }
        // It may have been enlarged again.
        self.is_cut.load(Ordering::Relaxed).then_some((expected, actual))
    }

    /// Stops the growth of the file. The first reason is kept.
    fn stop(&self, reason: StopReason) {
        let _ = self.stopped.compare_exchange(0, stop_word(reason), Ordering::Relaxed, Ordering::Relaxed);
    }

    fn grow(&self, growth: &mut Growth) -> Result<(), StopReason> {
        match self.stopped() {
            Some(reason) => Err(reason),
            None => self.enlarge(growth).inspect_err(|&reason| self.stop(reason)),
        }
    }

    fn enlarge(&self, growth: &mut Growth) -> Result<(), StopReason> {
        let segment = self.new_segment(growth.n_bytes)?;
        let segment = growth.place(segment);
        growth.n_bytes += segment.n_bytes();
        for n in 0..segment.n_chunks() {
            chunk::mark_unused(&MappedSegment::chunk(&segment, n));
        }
        for n in 0..segment.n_chunks() {
            // The queue has room for the maximum of ready chunks and one segment more, so that no chunk is lost.
            let _ = self.ready.push(MappedSegment::chunk(&segment, n));
        }
        growth.segments.push(segment);
        Ok(())
    }

    fn new_segment(&self, offset: u64) -> Result<MappedSegment, StopReason> {
        let n_wanted = if offset == 0 { FIRST_CHUNKS } else { SEGMENT_CHUNKS };
        let n_allowed = |limit: u64| limit.saturating_sub(offset) / CHUNK_BYTES as u64;
        if n_allowed(self.limit) == 0 {
            return Err(StopReason::Limit);
        }
        let n_allowed = n_allowed(self.limit.min(file_size::limit()));
        let n_chunks = n_wanted.min(usize::try_from(n_allowed).unwrap_or(usize::MAX));
        if n_chunks == 0 {
            return Err(StopReason::FileSize);
        }
        let len = n_chunks * CHUNK_BYTES;
        // Otherwise enlarging it would put zeros where data was.
        if self.file.metadata().is_ok_and(|file| file.len() < offset) {
            self.is_cut.store(true, Ordering::Relaxed);
            return Err(StopReason::Truncated);
        }
        let enlarge = || {
            // Writing through the file first gives large pages, which map in a quarter of the time of small ones.
            reserve(&self.file, offset, len as u64).and_then(|()| write_zeros(&self.file, offset, len as u64))
        };
        let segment = file_size::without_signal(enlarge)
            .and_then(|()| MappedSegment::map(&self.file, offset, len, &self.is_cut))
            .map_err(|error| match error.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StopReason::NoSpace,
                io::ErrorKind::FileTooLarge => StopReason::FileSize,
                _ => StopReason::Io,
            })?;
        segment.populate();
        Ok(segment)
    }

    /// Closes all chunks, so that every writer requests another one at its next record.
    pub(crate) fn close_chunks(&self) {
        for segment in &lock(&self.growth).segments {
            for n in 0..segment.n_chunks() {
                chunk::revoke(&MappedSegment::chunk(segment, n));
            }
        }
    }

    /// Cuts off the unused end of the file. Chunks are handed out in order, so nearly all unused ones are at the end.
    /// Only for a process that ends or continues without this spool.
    pub(crate) fn trim(&self) {
        let mut growth = lock(&self.growth);
        growth.is_over = true;
        self.stop(StopReason::Io);
        let mut unused: Vec<u64> = std::iter::from_fn(|| self.ready.pop()).map(|chunk| chunk.index()).collect();
        unused.sort_unstable();
        while unused.last().is_some_and(|&last| (last + 1) * CHUNK_BYTES as u64 == growth.n_bytes) {
            unused.pop();
            growth.n_bytes -= CHUNK_BYTES as u64;
        }
        let _ = self.file.set_len(growth.n_bytes);
    }

    /// Takes all memory away from threads that may still own chunks: their writes no longer reach the file, and they
    /// soon request another chunk. Called once; no chunk is handed out afterwards.
    pub(crate) fn revoke(&self) {
        let mut growth = lock(&self.growth);
        growth.is_over = true;
        self.stop(StopReason::Io);
        while self.ready.pop().is_some() || self.partial.pop().is_some() || self.full.pop().is_some() {}
        for segment in growth.segments.drain(..) {
            segment.revoke();
        }
    }

    /// In a forked child: gives up the file, and with it the parent's lock on it. The child must neither use nor drop
    /// this spool afterwards.
    pub(crate) fn abandon_in_child(&self) {
        #[cfg(unix)]
        {
            // The mappings hold the lock as well. If another thread of the parent was enlarging the spool at the fork,
            // they stay, and the parent's path is locked until the child ends.
            let segments = self.growth.try_lock().map(|mut growth| std::mem::take(&mut growth.segments));
            for segment in segments.unwrap_or_default() {
                // SAFETY: nothing in the child uses this spool again: only the forking thread exists there, and its
                // buffer has been cleared.
                unsafe { segment.unmap_in_child() };
            }
            // SAFETY: the child has its own copy of the descriptor and never uses this spool again, so that it is
            // closed once.
            unsafe {
                libc::close(std::os::fd::AsRawFd::as_raw_fd(&self.file));
            }
        }
    }
}

/// Returns true if another thread may continue in the chunk of an ended one.
fn has_room(chunk: &MappedChunk) -> bool {
    chunk::len(chunk) + PARTIAL_ROOM <= CHUNK_BYTES as u64
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
