//! Copies of a ring that is still being written.
//!
//! A chunk that is overwritten while it is copied has a new generation, and is left out: its content was older than the
//! chunks that are kept. Events are copied before definitions, so that the definitions they refer to are included, and
//! before open spans, so that a span that ends meanwhile is not copied as both. A chunk that is left out is unused in
//! the copy.

use crate::error::Error;
use crate::os::{file_size, private_file};
use crate::util::turn::Turn;
use ferrum_trace_format::ReadAt;
use ferrum_trace_format::spool::empty_unstable_slots;
use ferrum_trace_format::spool::layout::{CHUNK_BYTES, EVENTS_MAGIC, OPEN_SPANS_MAGIC, UNUSED_MAGIC, chunk, file};
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{Ordering, fence};

/// A copy, which is a spool like any other. Its file has no name and is gone when this is dropped, or when the process
/// ends.
#[derive(Debug)]
pub(crate) struct Snapshot {
    file: File,
}

impl Snapshot {
    /// Copies a spool into the folder of `path`, which is the name of the copy on systems where files must have one.
    pub(crate) fn take(spool: &File, path: &Path) -> Result<Self, Error> {
        let copied = file_size::without_signal(|| copy(spool, path))
            .map_err(|cause| Error::io("cannot copy the ring", path, cause));
        copied.map(|file| Self { file })
    }

    /// Returns the copied spool.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }
}

fn copy(spool: &File, path: &Path) -> io::Result<File> {
    let copy = private_file::create_unnamed(path)?;
    let mut chunk = Vec::with_capacity(CHUNK_BYTES);
    let mut is_copied = Vec::new();
    let mut turn = Turn::new();
    for events in [true, false] {
        // Chunks may have been added since events were copied, with definitions that the events need.
        let n_chunks = spool.metadata()?.len().div_ceil(CHUNK_BYTES as u64);
        is_copied.resize(n_chunks as usize, false);
        for index in 0..n_chunks {
            let is_consistent = read_chunk(spool, index, events, &mut chunk)?;
            if is_consistent && index == 0 {
                limit_chunks_used(&mut chunk, n_chunks);
            }
            let is_left_out = !events && !is_consistent && !is_copied[index as usize];
            if is_left_out {
                chunk.clear();
                chunk.extend_from_slice(&UNUSED_MAGIC.to_le_bytes());
            }
            if is_consistent || is_left_out {
                (&copy).seek(SeekFrom::Start(index * CHUNK_BYTES as u64))?;
                (&copy).write_all(&chunk)?;
                is_copied[index as usize] = true;
            }
            // The copy is urgent, since the ring is being overwritten, but it must not delay the recording threads.
            turn.yield_if_over();
        }
    }
    Ok(copy)
}

/// Limits the number of used chunks in the file header to those that are copied: more may have been added since.
fn limit_chunks_used(header: &mut [u8], n_chunks: u64) {
    if let Some(word) = header.get_mut(8 * file::CHUNKS_USED..).and_then(|rest| rest.first_chunk_mut::<8>()) {
        *word = u64::from_le_bytes(*word).min(n_chunks).to_le_bytes();
    }
}

/// Reads a chunk if it has events (or has none, by `events`) and is consistent. Returns false otherwise.
fn read_chunk(spool: &File, index: u64, events: bool, bytes: &mut Vec<u8>) -> io::Result<bool> {
    let start = index * CHUNK_BYTES as u64;
    let before = read_header(spool, start)?;
    if (before[chunk::MAGIC] == EVENTS_MAGIC) != events || before[chunk::GENERATION] % 2 == 1 {
        return Ok(false);
    }
    bytes.resize(CHUNK_BYTES, 0);
    let n_bytes = spool.read_at(bytes, start)?;
    bytes.truncate(n_bytes);
    // Pairs with the fence in `chunk::recycle`.
    fence(Ordering::Acquire);
    let after = read_header(spool, start)?;
    if before[chunk::GENERATION] != after[chunk::GENERATION] || n_bytes < 8 * chunk::HEADER_WORDS {
        return Ok(false);
    }
    if before[chunk::MAGIC] == OPEN_SPANS_MAGIC {
        let mut later = vec![0; CHUNK_BYTES];
        let n_bytes = spool.read_at(&mut later, start)?;
        empty_unstable_slots(bytes, &later[..n_bytes]);
    }
    // Use the length that was read before the data below it.
    bytes[8 * chunk::LEN..][..8].copy_from_slice(&before[chunk::LEN].to_le_bytes());
    Ok(true)
}

fn read_header(spool: &File, start: u64) -> io::Result<[u64; chunk::HEADER_WORDS]> {
    let mut bytes = [[0; 8]; chunk::HEADER_WORDS];
    spool.read_at(bytes.as_flattened_mut(), start)?;
    Ok(bytes.map(u64::from_le_bytes))
}
