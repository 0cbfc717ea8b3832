//! Background reads and writes of files that do not disturb the program.
//!
//! A thread of low priority keeps its processor until the next scheduler tick, for milliseconds, even if a thread of
//! the program is ready to run there. So background work yields its processor all the time. And data written through
//! the page cache is written to disk by kernel threads, at normal priority and on any processor; it also evicts the
//! program's pages from the cache. So large writes bypass the page cache where the file system supports it.

use crate::os::file::{clone_into, set_past_cache, write_back};
use crate::os::process::is_ending;
use crate::recording::background;
use ferrum_trace_format::ReadAt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// Bytes per write.
const PIECE_BYTES: usize = 1 << 20;
/// Alignment of writes that bypass the cache, in the file and in memory: a page, which is a multiple of the block size
/// of all common disks.
const BLOCK_BYTES: usize = 4096;

/// A spool that is read in the background or, when time is short, in the foreground.
pub(crate) struct QuietSource<'a>(pub &'a File);

impl ReadAt for QuietSource<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        background::checkpoint()?;
        self.0.read_at(buffer, offset)
    }

    fn size(&self) -> io::Result<u64> {
        self.0.size()
    }
}

/// A file that is written in the background or, when time is short, in the foreground. Complete after a
/// [`flush`](Write::flush).
pub(crate) struct QuietFile<'a> {
    file: &'a File,
    /// Position of `pending` in the file.
    at: u64,
    pending: Piece,
    past_cache: PastCache,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PastCache {
    /// Not tried yet, or switched off for the last piece.
    Off,
    On,
    /// Not supported by the file system.
    Never,
}

impl<'a> QuietFile<'a> {
    /// Continues a file at `at`, which is the file's position.
    pub(crate) fn new(file: &'a File, at: u64) -> Self {
        Self { file, at, pending: Piece::default(), past_cache: PastCache::Off }
    }

    /// Returns the number of bytes until the next piece boundary.
    fn room(&self) -> usize {
        let whole = PIECE_BYTES - (self.at % PIECE_BYTES as u64) as usize;
        whole - self.pending.len
    }

    /// Writes the pending bytes.
    fn write_pending(&mut self) -> io::Result<()> {
        if self.pending.len == 0 {
            return Ok(());
        }
        // At exit the program waits for the file, and the cache is faster.
        self.switch_past_cache(self.pending.len == PIECE_BYTES && !is_ending());
        let mut written = 0;
        while written < self.pending.len {
            background::checkpoint()?;
            match self.file.write(&self.pending.bytes()[written..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n_bytes) => written += n_bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // This disk cannot do it, or a part of the piece was written and the rest is not a whole number of
                // blocks.
                Err(_) if self.past_cache == PastCache::On => {
                    self.switch_past_cache(false);
                    self.past_cache = PastCache::Never;
                }
                Err(error) => return Err(error),
            }
        }
        self.at += written as u64;
        self.pending.len = 0;
        if self.past_cache != PastCache::On {
            // Keep few pages waiting for the disk. Beyond a share of memory, the kernel delays every thread that writes
            // to a file, including recording threads that write through mapped memory.
            write_back(self.file, self.at - written as u64, written as u64);
        }
        Ok(())
    }

    fn switch_past_cache(&mut self, wanted: bool) {
        self.past_cache = match (self.past_cache, wanted) {
            (PastCache::Off, true) if set_past_cache(self.file, true) => PastCache::On,
            (PastCache::Off, true) => PastCache::Never,
            (PastCache::On, false) => {
                set_past_cache(self.file, false);
                PastCache::Off
            }
            (unchanged, _) => unchanged,
        };
    }
}

impl Write for QuietFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !background::is_background() {
            return self.file.write(bytes);
        }
        let n_bytes = bytes.len().min(self.room());
        self.pending.push(&bytes[..n_bytes]);
        if self.room() == 0 {
            self.write_pending()?;
        }
        Ok(n_bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_pending()?;
        self.switch_past_cache(false);
        Ok(())
    }
}

impl Drop for QuietFile<'_> {
    fn drop(&mut self) {
        // Other code continues to use the file.
        self.switch_past_cache(false);
    }
}

/// A buffer that begins at a block boundary.
#[derive(Default)]
struct Piece {
    memory: Vec<u8>,
    start: usize,
    len: usize,
}

impl Piece {
    fn bytes(&self) -> &[u8] {
        &self.memory[self.start..][..self.len]
    }

    /// Returns the free part of the buffer.
    fn room(&mut self) -> &mut [u8] {
        if self.memory.is_empty() {
            self.memory = vec![0; PIECE_BYTES + BLOCK_BYTES];
            self.start = self.memory.as_ptr().align_offset(BLOCK_BYTES).min(BLOCK_BYTES);
        }
        &mut self.memory[self.start..][..PIECE_BYTES][self.len..]
    }

    fn push(&mut self, bytes: &[u8]) {
        self.room()[..bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }
}

/// Copies `from` to `to`, which is empty. Reads bypass the cache too, since data that was written that way is not in
/// it. Where the system supports it, the files share blocks and no data is copied.
pub(crate) fn copy(mut from: &File, to: &File) -> io::Result<()> {
    if clone_into(from, to) {
        return Ok(());
    }
    from.seek(SeekFrom::Start(0))?;
    let is_past_cache = background::is_background() && set_past_cache(from, true);
    let copied = append(from, to, 0);
    if is_past_cache {
        set_past_cache(from, false);
    }
    copied
}

/// Appends the rest of `from` to `to`, whose position is `at`.
pub(crate) fn append(mut from: &File, mut to: &File, at: u64) -> io::Result<()> {
    if !background::is_background() {
        return io::copy(&mut from, &mut to).map(drop);
    }
    let mut to = QuietFile::new(to, at);
    let mut piece = Piece::default();
    loop {
        background::checkpoint()?;
        match from.read(piece.room()) {
            Ok(0) => return to.flush(),
            Ok(n_bytes) => to.write_all(&piece.room()[..n_bytes])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // This disk cannot do it, or the position is not at a block boundary.
            Err(_) if set_past_cache(from, false) => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::Path;

    /// Runs `work` on a background thread.
    fn in_background<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        let work = || {
            background::become_deputy();
            work()
        };
        std::thread::spawn(work).join().unwrap()
    }

    fn file_in(folder: &Path) -> File {
        tempfile::tempfile_in(folder).unwrap()
    }

    fn content(mut file: &File) -> Vec<u8> {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0)).unwrap();
        file.read_to_end(&mut bytes).unwrap();
        bytes
    }

    /// Folders on file systems that a machine usually has: a disk, and memory, which cannot bypass the cache.
    fn folders() -> Vec<std::path::PathBuf> {
        let shared = Path::new("/dev/shm").to_owned();
        [std::env::temp_dir(), shared].into_iter().filter(|folder| folder.is_dir()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn all_written_bytes_are_in_the_file_and_in_its_copy(
            before in 0..3 * BLOCK_BYTES,
            writes in prop::collection::vec(prop_oneof![1..2000_usize, 1..2 * PIECE_BYTES], 0..8),
        ) {
            for folder in folders() {
                let writes = writes.clone();
                let (expected, written, copied) = in_background(move || {
                    let file = file_in(&folder);
                    let mut expected = vec![b'a'; before];
                    (&file).write_all(&expected).unwrap();
                    let mut out = QuietFile::new(&file, before as u64);
                    for (n, len) in writes.into_iter().enumerate() {
                        let bytes: Vec<u8> = (0..len).map(|i| (i * 7 + n) as u8).collect();
                        out.write_all(&bytes).unwrap();
                        expected.extend(bytes);
                    }
                    out.flush().unwrap();
                    drop(out);
                    // Later writes continue at the end of the file, through the cache.
                    (&file).write_all(b"tail").unwrap();
                    expected.extend(b"tail");
                    let twin = file_in(&folder);
                    copy(&file, &twin).unwrap();
                    (expected, content(&file), content(&twin))
                });
                prop_assert!(expected == written && expected == copied);
            }
        }
    }

    #[test]
    fn whole_pieces_bypass_the_cache_and_the_rest_does_not() {
        let is_past = |file: &File| {
            let was_past = set_past_cache(file, false);
            was_past && set_past_cache(file, true)
        };
        let seen = in_background(move || {
            let file = file_in(&std::env::temp_dir());
            if !set_past_cache(&file, true) {
                return None;
            }
            set_past_cache(&file, false);
            let mut out = QuietFile::new(&file, 0);
            out.write_all(&vec![1; PIECE_BYTES]).unwrap();
            let after_piece = is_past(&file);
            out.write_all(b"rest").unwrap();
            out.flush().unwrap();
            Some((after_piece, is_past(&file)))
        });
        // Not all file systems support it.
        assert!(seen.is_none_or(|seen| seen == (true, false)));
    }
}
