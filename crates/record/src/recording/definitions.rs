//! Definitions of a spool: names, threads and tracks, and the numbers by which events refer to them.
//!
//! A definition is written before its number is given out, so that every event that can be read refers to a definition
//! that can be read.
//!
//! In a ring, the definitions would fill the file in the end, if threads, names and tracks come and go. So threads are
//! defined in their chunks of events and are overwritten with them. Names and tracks have a share of the ring each.
//! When it is used up, further names are defined in chunks of events too, once in each chunk of each thread that uses
//! them, and events of further tracks are lost. Calibration points are in one chunk; when it is full, a new one gets
//! the most important of them.

use crate::memory::chunk::{self, ChunkMemory};
use crate::memory::segment::{Counter, MappedChunk};
use crate::recording::point_log::PointLog;
use crate::thread::names::{KEY_SEPARATOR, Lookup, NameTable};
use crate::thread::site::Site;
use ferrum_trace_format::spool::layout::{CHUNK_BYTES, chunk as chunk_layout};
use ferrum_trace_format::spool::record::{TEXT_BYTES_MAX, cut_text};
use ferrum_trace_format::spool::{Definition, THREAD_DROPPED_WORD, write_site, write_thread};
use std::borrow::Cow;
use std::sync::atomic::Ordering;

/// Room for the longest definition.
const SCRATCH_BYTES: usize = CHUNK_BYTES;

/// Definitions of one session.
#[derive(Debug)]
pub(crate) struct Definitions {
    /// The chunk that takes the next definition.
    chunk: MappedChunk,
    /// Number of chunks of definitions after the first.
    n_chunks: u64,
    n_threads: u32,
    /// Tracks by number, counted from one.
    tracks: Vec<TrackEntry>,
    names: NameTable,
    /// Limits and calibration points of a ring.
    ring: Option<RingDefinitions>,
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

/// Definitions of a ring that are bounded.
#[derive(Debug)]
struct RingDefinitions {
    /// Bytes left for the definitions of names.
    name_bytes_left: u64,
    /// Bytes left for the definitions of tracks.
    track_bytes_left: u64,
    points: PointLog,
}

/// Share of a ring that definitions of names may take: one part of this number.
const NAMES_SHARE: u64 = 8;
/// Share of a ring that definitions of tracks may take.
const TRACKS_SHARE: u64 = 16;

/// The number of a name made at run time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Interned {
    /// It is defined for the whole recording.
    InSpool(u32),
    /// The thread has to define it in its chunk of a ring, and may use it there.
    InChunk,
}

impl Interned {
    /// Returns the number, if the name is defined for the whole recording.
    pub(crate) fn in_spool(self) -> Option<u32> {
        match self {
            Self::InSpool(id) => Some(id),
            Self::InChunk => None,
        }
    }
}

/// Maximum length of a name that is defined in a chunk, with its category. Longer ones are written with each event.
const IN_CHUNK_BYTES_MAX: usize = 1024;

/// Returns a new chunk for definitions, or `None` if there is no room.
type FreshChunk<'a> = &'a dyn Fn() -> Option<MappedChunk>;

impl Definitions {
    /// Definitions that begin in `chunk`. `ring_bytes` is the size of the ring, if the spool is one.
    pub(crate) fn new(chunk: MappedChunk, ring_bytes: Option<u64>) -> Self {
        let scratch = Vec::with_capacity(SCRATCH_BYTES);
        let ring = ring_bytes.map(|n_bytes| RingDefinitions {
            name_bytes_left: n_bytes / NAMES_SHARE,
            track_bytes_left: n_bytes / TRACKS_SHARE,
            points: PointLog::default(),
        });
        Self { chunk, n_chunks: 0, n_threads: 0, tracks: Vec::new(), names: NameTable::default(), ring, scratch }
    }

    /// Writes a definition. Returns its position in the current chunk.
    pub(crate) fn define(&mut self, definition: &Definition<'_>, fresh: FreshChunk<'_>) -> Option<u64> {
        self.append(&definition.to_bytes(), fresh)
    }

    fn append(&mut self, bytes: &[u8], fresh: FreshChunk<'_>) -> Option<u64> {
        let n_bytes = bytes.len() as u64;
        if chunk::len(&self.chunk) + n_bytes > CHUNK_BYTES as u64 {
            let fresh = self.next_chunk(fresh)?;
            chunk::close(&self.chunk);
            self.chunk = fresh;
        }
        append_to(&self.chunk, bytes)
    }

    fn next_chunk(&mut self, fresh: FreshChunk<'_>) -> Option<MappedChunk> {
        let chunk = fresh()?;
        self.n_chunks += 1;
        chunk.store(chunk_layout::SEQUENCE, self.n_chunks, Ordering::Relaxed);
        Some(chunk)
    }

    /// Writes a calibration point. `retire` takes a chunk whose points are no longer needed.
    pub(crate) fn define_point(
        &mut self,
        point: (u64, u64),
        fresh: FreshChunk<'_>,
        retire: impl FnOnce(MappedChunk),
    ) -> Option<()> {
        let definition = Definition::Calibration { ticks: point.0, nanos: point.1 };
        let Some(ring) = &mut self.ring else {
            return self.define(&definition, fresh).map(|_| ());
        };
        let mut points = std::mem::take(&mut ring.points);
        let defined = match points.is_first_of_recording() {
            true => self.define(&definition, fresh).map(|_| points.n_first += 1),
            false => points.add(point, retire, || self.next_chunk(fresh)),
        };
        if let Some(ring) = &mut self.ring {
            ring.points = points;
        }
        defined
    }

    /// Returns the number of another thread of a ring.
    pub(crate) fn number_thread(&mut self) -> u32 {
        // After four billion threads, the numbers begin again.
        self.n_threads = self.n_threads.checked_add(1).unwrap_or(1);
        self.n_threads
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
        let bytes = Definition::Track { id, sort, name: kept_text(name) }.to_bytes();
        if let Some(ring) = &mut self.ring {
            ring.track_bytes_left = ring.track_bytes_left.checked_sub(bytes.len() as u64)?;
        }
        self.append(&bytes, fresh)?;
        self.tracks.push(TrackEntry { name: name.to_owned(), sort, is_handed_over });
        Some(id)
    }

    /// Returns the number of a name made at run time, or `None` if there are too many of them to define.
    pub(crate) fn intern(&mut self, name: &str, category: &str, fresh: FreshChunk<'_>) -> Option<Interned> {
        match self.names.look_up(name, category) {
            Lookup::Known(id) => Some(Interned::InSpool(id)),
            Lookup::Full => self.in_chunk(name, category),
            Lookup::New(id) => {
                let mut bytes = std::mem::take(&mut self.scratch);
                write_name(&mut bytes, id, name, category);
                let is_defined = self.has_room_for_name(&bytes) && self.append(&bytes, fresh).is_some();
                self.scratch = bytes;
                if !is_defined {
                    self.names.forget_last();
                }
                match is_defined {
                    true => Some(Interned::InSpool(id)),
                    false => self.in_chunk(name, category),
                }
            }
        }
    }

    /// Returns the answer for a name that cannot be defined for the whole recording.
    fn in_chunk(&self, name: &str, category: &str) -> Option<Interned> {
        let fits = name.len() + category.len() <= IN_CHUNK_BYTES_MAX;
        (self.ring.is_some() && fits).then_some(Interned::InChunk)
    }

    /// Returns true if the definition of a name is within the share of the ring, and counts it.
    fn has_room_for_name(&mut self, bytes: &[u8]) -> bool {
        let Some(ring) = &mut self.ring else {
            return true;
        };
        let left = ring.name_bytes_left.checked_sub(bytes.len() as u64);
        ring.name_bytes_left = left.unwrap_or(ring.name_bytes_left);
        left.is_some()
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

/// Writes definitions at the end of a chunk. Returns their position, or `None` if there is no room for them.
pub(super) fn append_to(chunk: &MappedChunk, bytes: &[u8]) -> Option<u64> {
    let (at, n_bytes) = (chunk::len(chunk), bytes.len() as u64);
    if at + n_bytes > CHUNK_BYTES as u64 {
        return None;
    }
    for (n, word) in bytes.as_chunks::<8>().0.iter().enumerate() {
        chunk::put(chunk, at, n, u64::from_le_bytes(*word));
    }
    chunk::publish(chunk, at + n_bytes);
    Some(at)
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
