//! Files that are read and written while the program goes on, so that it does not notice.
//!
//! A thread of low priority still keeps a processor until the next tick, for milliseconds, when a thread of the program comes to it. So
//! what works in the background offers its processor to others all the time. And what is written through the system's cache
//! is written again by threads of the kernel, at the priority of the program's own, on any processor; the cache grows by it, at
//! the cost of what the program has there. So much is written past it, where the file's system can.

use crate::os::file::{clone_into, set_past_cache, write_back};
use crate::os::process::is_ending;
use crate::recording::background;
use ferrum_trace_format::ReadAt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// What is written at a time.
const PIECE_BYTES: usize = 1 << 20;
/// Where writes past the cache have to begin and end, in the file and in memory: a page, which no usual disk goes beyond.
const BLOCK_BYTES: usize = 4096;

/// A spool that is read in the background, or in a hurry.
pub struct QuietSource<'a>(pub &'a File);

impl ReadAt for QuietSource<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        background::give_way()?;
        self.0.read_at(buffer, offset)
    }

    fn size(&self) -> io::Result<u64> {
        self.0.size()
    }
}

/// A file that is written in the background, or in a hurry. It has all that was written after a [`flush`](Write::flush).
pub struct QuietFile<'a> {
    file: &'a File,
    /// Where in the file `waiting` begins.
    at: u64,
    waiting: Piece,
    past_cache: PastCache,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PastCache {
    /// Not tried, or not for the last piece.
    Off,
    On,
    /// The file's system cannot.
    Never,
}

impl<'a> QuietFile<'a> {
    /// Goes on at `at`, where the file's own position is.
    pub fn new(file: &'a File, at: u64) -> Self {
        Self { file, at, waiting: Piece::default(), past_cache: PastCache::Off }
    }

    /// Until the next border of a piece.
    fn room(&self) -> usize {
        let whole = PIECE_BYTES - (self.at % PIECE_BYTES as u64) as usize;
        whole - self.waiting.len
    }

    /// Writes what waits.
    fn write_waiting(&mut self) -> io::Result<()> {
        if self.waiting.len == 0 {
            return Ok(());
        }
        // Somebody waits for the file if the process ends.
        self.go_past_cache(self.waiting.len == PIECE_BYTES && !is_ending());
        let mut written = 0;
        while written < self.waiting.len {
            background::give_way()?;
            match self.file.write(&self.waiting.bytes()[written..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n_bytes) => written += n_bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Not on this disk, or a part of the piece was written, and the rest is no whole number of blocks.
                Err(_) if self.past_cache == PastCache::On => {
                    self.go_past_cache(false);
                    self.past_cache = PastCache::Never;
                }
                Err(error) => return Err(error),
            }
        }
        self.at += written as u64;
        self.waiting.len = 0;
        if self.past_cache != PastCache::On {
            // Little is left waiting for the disk. Beyond a share of the memory that does, the kernel holds up everybody who writes
            // to a file, also through mapped memory, as threads do that record.
            write_back(self.file, self.at - written as u64, written as u64);
        }
        Ok(())
    }

    fn go_past_cache(&mut self, wanted: bool) {
        self.past_cache = match (self.past_cache, wanted) {
            (PastCache::Off, true) if set_past_cache(self.file, true) => PastCache::On,
            (PastCache::Off, true) => PastCache::Never,
            (PastCache::On, false) => {
                set_past_cache(self.file, false);
                PastCache::Off
            }
            (as_before, _) => as_before,
        };
    }
}

impl Write for QuietFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !background::is_here() {
            return self.file.write(bytes);
        }
        let n_bytes = bytes.len().min(self.room());
        self.waiting.push(&bytes[..n_bytes]);
        if self.room() == 0 {
            self.write_waiting()?;
        }
        Ok(n_bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_waiting()?;
        self.go_past_cache(false);
        Ok(())
    }
}

impl Drop for QuietFile<'_> {
    fn drop(&mut self) {
        // Others go on with the file.
        self.go_past_cache(false);
    }
}

/// Memory that begins at the border of a block.
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

    /// All there is room for.
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

/// Makes `to`, which is empty, the same as `from`, also past the cache: what was written that way is not there.
/// The system does it without moving data, where it can.
pub fn copy(mut from: &File, to: &File) -> io::Result<()> {
    if clone_into(from, to) {
        return Ok(());
    }
    from.seek(SeekFrom::Start(0))?;
    let is_past_cache = background::is_here() && set_past_cache(from, true);
    let copied = append(from, to, 0);
    if is_past_cache {
        set_past_cache(from, false);
    }
    copied
}

/// Appends what is left of `from` to `to`, whose position is `at`.
pub fn append(mut from: &File, mut to: &File, at: u64) -> io::Result<()> {
    if !background::is_here() {
        return io::copy(&mut from, &mut to).map(drop);
    }
    let mut to = QuietFile::new(to, at);
    let mut piece = Piece::default();
    loop {
        background::give_way()?;
        match from.read(piece.room()) {
            Ok(0) => return to.flush(),
            Ok(n_bytes) => to.write_all(&piece.room()[..n_bytes])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Not on this disk, or after the end of a block.
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

    /// Runs on a thread of the background.
    fn in_background<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        background::spawn("test", work).unwrap().join().unwrap()
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

    /// The file systems that a machine usually has: one with a disk, and one in memory, which cannot go past the cache.
    fn folders() -> Vec<std::path::PathBuf> {
        let shared = Path::new("/dev/shm").to_owned();
        [std::env::temp_dir(), shared].into_iter().filter(|folder| folder.is_dir()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn all_that_is_written_is_in_the_file_and_in_its_copy(
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
                    // Whoever goes on with the file writes where it ends, and as usual.
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
    fn whole_pieces_go_past_the_cache_and_the_rest_does_not() {
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
        // Some systems have no such way.
        assert!(seen.is_none_or(|seen| seen == (true, false)));
    }
}
