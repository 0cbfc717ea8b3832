//! Definitions of a spool: names, threads and tracks, and the numbers by which events refer to them.
//!
//! A definition is written before its number is given out, so that every event that can be read refers to a definition
//! that can be read.

use crate::memory::chunk;
use crate::memory::segment::{Counter, MappedChunk};
use crate::thread::names::{KEY_SEPARATOR, Lookup, NameTable};
use crate::thread::site::Site;
use ferrum_trace_format::spool::layout::CHUNK_BYTES;
use ferrum_trace_format::spool::record::{TEXT_BYTES_MAX, cut_text};
use ferrum_trace_format::spool::{Definition, THREAD_DROPPED_WORD, write_site, write_thread};
use std::borrow::Cow;

/// Room for the longest definition.
const SCRATCH_BYTES: usize = CHUNK_BYTES;

/// Definitions of one session.
#[derive(Debug)]
pub(crate) struct Definitions {
    /// The chunk that takes the next definition.
    chunk: MappedChunk,
    n_threads: u32,
    /// Tracks by number, counted from one.
    tracks: Vec<TrackEntry>,
    names: NameTable,
    /// Buffer for the definition of a name, a site or a thread: the caller may be a signal handler that interrupted the
    /// allocator.
    scratch: Vec<u8>,
}

#[derive(Debug)]
struct TrackEntry {
    name: String,
    sort: i64,
    /// True if the track was copied from the previous part and has not been defined again in this one.
    is_handed_over: bool,
}

/// The number of a thread in the spool, and the counter of its lost events.
#[derive(Debug)]
pub(crate) struct ThreadEntry {
    pub id: u32,
    pub dropped: Counter,
}

/// Returns a new chunk for definitions, or `None` if there is no room.
type FreshChunk<'a> = &'a dyn Fn() -> Option<MappedChunk>;

impl Definitions {
    /// Definitions that begin in `chunk`.
    pub(crate) fn new(chunk: MappedChunk) -> Self {
        let scratch = Vec::with_capacity(SCRATCH_BYTES);
        Self { chunk, n_threads: 0, tracks: Vec::new(), names: NameTable::default(), scratch }
    }

    /// Writes a definition. Returns its position in the current chunk.
    pub(crate) fn define(&mut self, definition: &Definition<'_>, fresh: FreshChunk<'_>) -> Option<u64> {
        self.append(&definition.to_bytes(), fresh)
    }

    fn append(&mut self, bytes: &[u8], fresh: FreshChunk<'_>) -> Option<u64> {
        let n_bytes = bytes.len() as u64;
        if chunk::len(&self.chunk) + n_bytes > CHUNK_BYTES as u64 {
            let fresh = fresh()?;
            chunk::close(&self.chunk);
            self.chunk = fresh;
        }
        let at = chunk::len(&self.chunk);
        if at + n_bytes > CHUNK_BYTES as u64 {
            return None;
        }
        for (n, word) in bytes.as_chunks::<8>().0.iter().enumerate() {
            chunk::put(&self.chunk, at, n, u64::from_le_bytes(*word));
        }
        chunk::publish(&self.chunk, at + n_bytes);
        Some(at)
    }

    /// Writes a definition that `write` puts into the preallocated buffer.
    fn append_with(&mut self, write: impl FnOnce(&mut Vec<u8>), fresh: FreshChunk<'_>) -> Option<u64> {
        let mut bytes = std::mem::take(&mut self.scratch);
        write(&mut bytes);
        let at = self.append(&bytes, fresh);
        self.scratch = bytes;
        at
    }

    /// Defines a call site under a number.
    pub(crate) fn define_site(&mut self, site: &Site, id: u32, fresh: FreshChunk<'_>) -> Option<()> {
        let (name, category) = (kept_text(site.name()), kept_text(site.category()));
        let keys = site.keys().iter().copied();
        let at = if keys.clone().all(|key| key.len() <= TEXT_BYTES_MAX) {
            self.append_with(|bytes| write_site(bytes, id, &name, &category, keys), fresh)
        } else {
            self.define(&Definition::Site { id, name, category, keys: keys.map(kept_text).collect() }, fresh)
        };
        at.map(|_| ())
    }

    /// Gives a thread a number.
    pub(crate) fn define_thread(&mut self, os_id: u64, name: &str, fresh: FreshChunk<'_>) -> Option<ThreadEntry> {
        let id = self.n_threads + 1;
        let name = kept_text(name);
        let at = self.append_with(|bytes| write_thread(bytes, id, os_id, &name), fresh)?;
        self.n_threads = id;
        let dropped = self.chunk.counter((at / 8) as usize + 1 + THREAD_DROPPED_WORD);
        Some(ThreadEntry { id, dropped })
    }

    /// Gives a named track a number.
    pub(crate) fn define_track(&mut self, name: &str, sort: i64, fresh: FreshChunk<'_>) -> Option<u32> {
        let is_same = |track: &TrackEntry| track.is_handed_over && track.sort == sort && track.name == name;
        if let Some(place) = self.tracks.iter().position(is_same) {
            self.tracks[place].is_handed_over = false;
            return Some(place as u32 + 1);
        }
        self.add_track(name, sort, false, fresh)
    }

    fn add_track(&mut self, name: &str, sort: i64, is_handed_over: bool, fresh: FreshChunk<'_>) -> Option<u32> {
        let id = self.tracks.len() as u32 + 1;
        self.define(&Definition::Track { id, sort, name: kept_text(name) }, fresh)?;
        self.tracks.push(TrackEntry { name: name.to_owned(), sort, is_handed_over });
        Some(id)
    }

    /// Returns the number of a name made at run time, or `None` if there are too many of them to define.
    pub(crate) fn intern(&mut self, name: &str, category: &str, fresh: FreshChunk<'_>) -> Option<u32> {
        match self.names.look_up(name, category) {
            Lookup::Known(id) => Some(id),
            Lookup::Full => None,
            Lookup::New(id) => {
                let is_defined = self.append_with(|bytes| write_name(bytes, id, name, category), fresh).is_some();
                if !is_defined {
                    self.names.forget_last();
                }
                is_defined.then_some(id)
            }
        }
    }

    /// Copies all names and tracks to the definitions of the next part, under the same numbers. Returns `None` if there
    /// is no room.
    pub(crate) fn copy_to(&self, next: &mut Self, fresh: FreshChunk<'_>) -> Option<()> {
        let mut names = std::mem::take(&mut next.names);
        let mut bytes = Vec::with_capacity(SCRATCH_BYTES);
        let copied = self.names.copy_to(&mut names, |id, name, category| {
            write_name(&mut bytes, id, name, category);
            next.append(&bytes, fresh).map(|_| ())
        });
        next.names = names;
        copied?;
        self.tracks.iter().try_for_each(|track| next.add_track(&track.name, track.sort, true, fresh).map(|_| ()))
    }
}

/// Writes the definition of a name. Keys of arguments may follow the category.
fn write_name(bytes: &mut Vec<u8>, id: u32, name: &str, category: &str) {
    let mut words = category.split(KEY_SEPARATOR);
    let category = kept_text(words.next().unwrap_or_default());
    write_site(bytes, id, &kept_text(name), &category, words);
}

/// Returns the part of a name or of another text that fits into a definition.
pub(crate) fn kept_text(text: &str) -> Cow<'_, str> {
    match cut_text(text) {
        (kept, None) => kept.into(),
        (kept, Some(note)) => format!("{kept}{note}").into(),
    }
}
