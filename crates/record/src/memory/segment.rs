//! Segments of the spool file that are mapped into memory, and the chunks in them.
#![allow(unsafe_code)]

use crate::memory::chunk::ChunkMemory;
use crate::os::fault::Guarded;
use ferrum_trace_format::spool::layout::{CHUNK_BYTES, CHUNK_WORDS};
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// A mapped part of the file.
#[derive(Debug)]
pub(crate) struct MappedSegment {
    start: *mut u8,
    len: usize,
    /// Position in the file.
    offset: u64,
    /// Guards the memory if another process truncates the file. Dropped before the memory is unmapped.
    guarded: Option<Guarded>,
}

// SAFETY: the memory is shared and only used through atomics.
unsafe impl Send for MappedSegment {}
// SAFETY: as for Send.
unsafe impl Sync for MappedSegment {}

/// A segment without memory, which takes the place of one that is mapped later.
impl Default for MappedSegment {
    fn default() -> Self {
        Self { start: std::ptr::null_mut(), len: 0, offset: 0, guarded: None }
    }
}

impl MappedSegment {
    /// Number of chunks.
    pub(crate) fn n_chunks(&self) -> usize {
        self.len / CHUNK_BYTES
    }

    /// Length in bytes.
    pub(crate) fn n_bytes(&self) -> u64 {
        self.len as u64
    }

    /// Returns the chunk at a position in the segment.
    pub(crate) fn chunk(segment: &Arc<Self>, n: usize) -> MappedChunk {
        assert!((n + 1) * CHUNK_BYTES <= segment.len);
        MappedChunk {
            // SAFETY: the chunk lies within the segment, checked above; mappings are aligned to pages.
            words: unsafe { segment.start.add(n * CHUNK_BYTES) } as *const AtomicU64,
            index: segment.offset / CHUNK_BYTES as u64 + n as u64,
            segment: Arc::clone(segment),
        }
    }
}

#[cfg(unix)]
impl MappedSegment {
    /// Maps a part of the file. Sets `is_lost` if another process truncates the file and the memory is used later.
    pub(crate) fn map(file: &File, offset: u64, len: usize, is_lost: &Arc<AtomicBool>) -> io::Result<Self> {
        use std::os::fd::AsRawFd;
        let from = libc::off_t::try_from(offset).map_err(io::Error::other)?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice disturbs nothing; the file has been reserved up to
        // the end of the range by our caller, so its pages exist.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), len, protection, libc::MAP_SHARED, file.as_raw_fd(), from) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = start as *mut u8;
        Ok(Self { start, len, offset, guarded: Guarded::new(start, len, is_lost) })
    }

    /// Makes the kernel prepare all pages now, so that no thread waits for one at its first write.
    pub(crate) fn populate(&self) {
        #[cfg(target_os = "linux")]
        // SAFETY: the range is our own mapping; populating it for writing changes no content.
        if unsafe { libc::madvise(self.start.cast(), self.len, libc::MADV_POPULATE_WRITE) } == 0 {
            return;
        }
        for page in (0..self.len).step_by(4096) {
            // SAFETY: the offset is within the mapping and aligned; no other thread has the segment yet, and it holds
            // zeros.
            unsafe { &*(self.start.add(page) as *const AtomicU64) }.store(0, Ordering::Relaxed);
        }
    }

    /// Unmaps the memory in a forked child, and leaks the rest.
    ///
    /// # Safety
    ///
    /// Nothing in this process may use the segment or a chunk of it again.
    pub(crate) unsafe fn unmap_in_child(self: Arc<Self>) {
        // SAFETY: the caller guarantees that the memory is not used again. The segment is leaked below, so it is not
        // unmapped twice.
        unsafe { libc::munmap(self.start.cast(), self.len) };
        std::mem::forget(self);
    }

    /// Replaces the pages of the file by private zeros. A chunk of zeros has a limit of zero, so its writer requests
    /// another one; a record that is being written at this moment goes into the zeros.
    pub(crate) fn revoke(&self) {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_NORESERVE;
        // SAFETY: replaces exactly our own mapping, atomically, by memory of the same size and protection; all access
        // is through atomics, which zeros are valid for.
        unsafe { libc::mmap(self.start.cast(), self.len, protection, flags, -1, 0) };
    }
}

#[cfg(unix)]
impl Drop for MappedSegment {
    fn drop(&mut self) {
        if self.len == 0 {
            return;
        }
        self.guarded = None;
        // SAFETY: every chunk and counter that points here holds an Arc of this segment, so none is left.
        unsafe { libc::munmap(self.start.cast(), self.len) };
    }
}

/// Systems without this way of mapping files: mapping fails, and the recorder reports the error and stays off.
#[cfg(not(unix))]
impl MappedSegment {
    pub fn map(_file: &File, _offset: u64, _len: usize, _is_lost: &Arc<AtomicBool>) -> io::Result<Self> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    pub fn populate(&self) {}

    pub fn revoke(&self) {}
}

/// One chunk in memory.
#[derive(Clone, Debug)]
pub(crate) struct MappedChunk {
    words: *const AtomicU64,
    /// Position in the file, in chunks.
    index: u64,
    /// Keeps the memory mapped.
    segment: Arc<MappedSegment>,
}

// SAFETY: the pointer is to atomics in memory that `segment` keeps mapped, on whichever thread it is used.
unsafe impl Send for MappedChunk {}
// SAFETY: as for Send; atomics may be used by several threads at once.
unsafe impl Sync for MappedChunk {}

impl MappedChunk {
    /// Returns the position in the file, in chunks.
    pub(crate) fn index(&self) -> u64 {
        self.index
    }

    /// Returns the address of the first word, which is valid as long as this chunk.
    pub(crate) fn words(&self) -> *const AtomicU64 {
        self.words
    }

    /// Returns a word of this chunk as a counter, which keeps the memory mapped.
    pub(crate) fn counter(&self, word: usize) -> Counter {
        Counter { word: self.word(word), _segment: Arc::clone(&self.segment) }
    }

    fn word(&self, word: usize) -> *const AtomicU64 {
        assert!(word < CHUNK_WORDS);
        // SAFETY: a chunk has CHUNK_WORDS words, checked above; `MappedSegment::chunk` made the pointer to the first.
        unsafe { self.words.add(word) }
    }

    /// Returns a reference to this chunk that does not keep its segment mapped.
    pub(crate) fn downgrade(&self) -> WeakChunk {
        let n = self.index as usize - (self.segment.offset / CHUNK_BYTES as u64) as usize;
        WeakChunk { n, segment: Arc::downgrade(&self.segment) }
    }

    /// Gives the pages back to the kernel, which keeps their content.
    fn release_pages(&self) {
        #[cfg(unix)]
        // SAFETY: the range is one whole chunk of a shared file mapping that `segment` keeps; dropping its pages from
        // this process leaves their content in the page cache.
        unsafe {
            libc::madvise(self.words as *mut libc::c_void, CHUNK_BYTES, libc::MADV_DONTNEED);
        }
    }
}

impl ChunkMemory for MappedChunk {
    fn load(&self, word: usize, order: Ordering) -> u64 {
        // SAFETY: `word` checks the index; `segment` keeps the memory mapped.
        unsafe { &*self.word(word) }.load(order)
    }

    fn store(&self, word: usize, value: u64, order: Ordering) {
        // SAFETY: as for `load`.
        unsafe { &*self.word(word) }.store(value, order)
    }
}

/// A word in the spool that is counted up.
#[derive(Debug)]
pub(crate) struct Counter {
    word: *const AtomicU64,
    _segment: Arc<MappedSegment>,
}

// SAFETY: the pointer is to an atomic in memory that `_segment` keeps mapped, on whichever thread it is used.
unsafe impl Send for Counter {}
// SAFETY: as for Send; an atomic may be used by several threads at once.
unsafe impl Sync for Counter {}

impl Counter {
    /// Adds `n`.
    pub(crate) fn add(&self, n: u64) {
        // SAFETY: `_segment` keeps the memory mapped.
        unsafe { &*self.word }.fetch_add(n, Ordering::Relaxed);
    }

    /// Raises the count to `n`, if it is less.
    pub(crate) fn raise_to(&self, n: u64) {
        // SAFETY: `_segment` keeps the memory mapped.
        let word = unsafe { &*self.word };
        if word.load(Ordering::Relaxed) < n {
            word.fetch_max(n, Ordering::Relaxed);
        }
    }
}

/// A full chunk, which does not keep its segment mapped.
#[derive(Debug)]
pub(crate) struct WeakChunk {
    n: usize,
    segment: Weak<MappedSegment>,
}

impl WeakChunk {
    /// Returns true if the segment is still mapped.
    pub(crate) fn is_mapped(&self) -> bool {
        self.segment.strong_count() > 0
    }

    /// Gives the pages of the chunk back to the kernel, if its segment is still mapped.
    pub(crate) fn release_pages(&self) {
        if let Some(segment) = self.segment.upgrade() {
            MappedSegment::chunk(&segment, self.n).release_pages();
        }
    }
}
