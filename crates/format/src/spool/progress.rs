//! Finds the new parts of a spool that may still be growing.

use super::definition::Definition;
use super::diagnostic::{Damage, events_max};
use super::dictionary::{Dictionary, Thread};
use super::layout::{
    CHUNK_BYTES, DEFINITIONS_MAGIC, DumpRefusal, EVENTS_MAGIC, FILE_MAGIC, OLDEST_VERSION, OPEN_SPANS_MAGIC,
    StopReason, UNUSED_MAGIC, VERSION, VERSION_WITH_USED_CHUNKS, chunk, file, state, stop_reason,
};
use super::open_span::{OpenSpan, empty_unstable_slots, spans_of_chunk, unreadable_from};
use super::record::{self, Record, RecordKind};
use super::summary::Summary;
use crate::{Error, ReadAt};
use ferrum_trace_model::{Recording, RefusedDumps};

/// Size of a chunk's header.
const HEADER_BYTES: u64 = 8 * chunk::HEADER_WORDS as u64;
/// Words of the record at the start of a chunk of events.
const SEGMENT_WORDS: usize = 3;

/// Returns true if these are the first bytes of a spool.
pub fn is_spool(first_bytes: &[u8]) -> bool {
    first_bytes.starts_with(&FILE_MAGIC.to_le_bytes())
}

/// Ticks by which an event may seem to begin before its name is defined: clocks of processors differ by some
/// nanoseconds.
const CLOCK_SLACK: u64 = 1 << 16;
/// Offset of a definition in the record that contains it.
const DEFINITION_AT: u64 = record::HEADER_BYTES as u64 + 16;
/// Upper bound for the number of events in a chunk.
const CHUNK_EVENTS_MAX: u64 = ((CHUNK_BYTES - HEADER_BYTES as usize) / record::HEADER_BYTES) as u64;

/// The file header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub pid: u32,
    /// Number of chunks that have been handed out, if the version states it.
    pub chunks_used: Option<u64>,
    pub clock: u64,
    pub finished: bool,
    pub wall_nanos: u64,
    pub dropped: u64,
    pub stop_reason: u64,
    pub limit: u64,
    /// True if the spool is a ring.
    pub is_ring: bool,
    /// Number of overwritten chunks.
    pub overwritten: u64,
    /// Number of the part; zero if the recording does not rotate.
    pub part: u64,
    /// True if the next part has the spans that were open at the end of this one.
    pub is_continued: bool,
    /// Number of refused dumps.
    pub dumps_refused: RefusedDumps,
}

/// Bytes `from..to` of a chunk of events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub chunk: u64,
    pub from: usize,
    pub to: usize,
}

/// The progress of reading a spool.
#[derive(Debug)]
pub(crate) struct Progress {
    pub dictionary: Dictionary,
    pub damage: Damage,
    /// Index of the first chunk that has not been seen.
    next_chunk: u64,
    /// Index of the first chunk beyond the end of the file that has not been reported as missing.
    next_missing: u64,
    /// Chunks that may still grow.
    open: Vec<OpenChunk>,
}

#[derive(Clone, Copy, Debug)]
struct OpenChunk {
    index: u64,
    magic: u64,
    read_to: usize,
}

impl OpenChunk {
    fn is_unused(&self) -> bool {
        matches!(self.magic, 0 | UNUSED_MAGIC)
    }
}

impl Progress {
    /// Reads the header of a spool.
    pub(crate) fn start<R: ReadAt + ?Sized>(source: &R) -> Result<Self, Error> {
        let header = Header::read(source)?;
        Ok(Self {
            dictionary: Dictionary::new(header.pid, header.is_ring),
            damage: Damage::default(),
            next_chunk: 0,
            next_missing: 0,
            open: Vec::new(),
        })
    }

    /// Returns the facts about the recording so far; `n_events` were found.
    fn recording<R: ReadAt + ?Sized>(&self, source: &R, header: &Header, n_events: u64) -> Result<Recording, Error> {
        let stop_reason = stop_reason(header.stop_reason);
        let mut recording = Recording {
            process: Some(header.pid.to_string()),
            start_monotonic_ns: i64::try_from(self.dictionary.calibration.start_nanos()).ok(),
            start_unix_ns: i64::try_from(header.wall_nanos).ok(),
            part: (header.part > 0).then_some(header.part),
            recorded: Some(n_events),
            dropped: header.dropped,
            stop_reason,
            limit_bytes: (stop_reason == Some(StopReason::Limit)).then_some(header.limit),
            ring_bytes: header.is_ring.then_some(header.limit),
            overwritten_chunks: if header.is_ring { header.overwritten } else { 0 },
            dumps_refused: header.dumps_refused,
            damaged_places: self.damage.n_all,
            missing_events_max: self.damage.n_missing_max,
            ..Recording::default()
        };
        if let Some(origin) = &self.dictionary.origin {
            recording.pid = Some(header.pid.to_string());
            recording.rank = origin.rank;
            recording.host = Some(origin.host.clone());
            recording.boot_id = Some(origin.boot_id.clone());
        }
        for (_, thread) in self.dictionary.threads() {
            let dropped = thread.dropped(source)?.unwrap_or(0);
            recording.dropped = recording.dropped.saturating_add(dropped);
            if dropped > 0 {
                let name = format!("{} {}", thread.track.name, thread.track.id);
                recording.dropped_by_thread.push((name, dropped));
            }
        }
        Ok(recording)
    }

    /// Returns the summary so far; `n_events` were found.
    pub(crate) fn summary<R: ReadAt + ?Sized>(&self, source: &R, n_events: u64) -> Result<Summary, Error> {
        let header = Header::read(source)?;
        let origin = self.dictionary.origin.as_ref();
        let recording = self.recording(source, &header, n_events)?;
        Ok(Summary {
            pid: header.pid,
            process: self.dictionary.process_name.clone(),
            rank: origin.and_then(|origin| origin.rank),
            boot_id: origin.map_or(String::new(), |origin| origin.boot_id.clone()),
            start_monotonic_ns: self.dictionary.calibration.start_nanos(),
            part: header.part,
            events: n_events,
            dropped: recording.dropped,
            threads: self.dictionary.threads().count(),
            stop_reason: stop_reason(header.stop_reason),
            finished: header.finished,
            recording,
            diagnostics: self.damage.kept.clone(),
            n_diagnostics: self.damage.n_all,
            n_missing_max: self.damage.n_missing_max,
        })
    }

    /// Reads all new definitions, and returns the pieces with new events.
    ///
    /// The events are listed first: every definition is written before the events that refer to it, so reading the
    /// definitions afterwards finds them all. `events_are_seen` is called in between; its definitions are read too.
    pub(crate) fn advance<R: ReadAt + ?Sized>(
        &mut self,
        source: &R,
        events_are_seen: impl FnOnce(),
    ) -> Result<Vec<Piece>, Error> {
        self.find_chunks(source)?;
        let mut events = self.new_pieces(source, |magic| magic == EVENTS_MAGIC)?;
        if Header::read(source)?.is_ring {
            sort_by_time(source, &mut events)?;
            self.define_in_events(source, &events)?;
        }
        events_are_seen();
        self.find_chunks(source)?;
        let mut definitions = self.new_pieces(source, |magic| magic == DEFINITIONS_MAGIC || magic == FILE_MAGIC)?;
        sort_by_sequence(source, &mut definitions)?;
        for piece in definitions {
            self.read_definitions(source, piece)?;
        }
        Ok(events)
    }

    /// Reads the definitions in the chunks of events of a ring.
    fn define_in_events<R: ReadAt + ?Sized>(&mut self, source: &R, pieces: &[Piece]) -> Result<(), Error> {
        let mut bytes = Vec::new();
        for piece in pieces {
            read_chunk_into(source, piece.chunk, &mut bytes)?;
            let whole = &bytes[..piece.to.min(bytes.len())];
            let mut at = 8 * chunk::HEADER_WORDS;
            let (mut thread, mut base) = (0, 0);
            // Damage is reported when the events are written.
            while let Some(Ok(record)) = whole.get(at..).filter(|rest| !rest.is_empty()).map(Record::read) {
                let offset = piece.chunk * CHUNK_BYTES as u64 + at as u64;
                at += record.size;
                match record.kind {
                    RecordKind::Segment => (thread, base) = (record.thread(), record.leading(0)),
                    RecordKind::Definition if at > piece.from => {
                        let (from, at) = (base.saturating_sub(CLOCK_SLACK), offset + DEFINITION_AT);
                        let definition = Definition::read(record.text()).ok().and_then(|(definition, _)| definition);
                        let defined = match definition {
                            Some(definition) => self.dictionary.define_in_chunk(definition, thread, from, at),
                            None => Err("an unknown definition was skipped"),
                        };
                        if let Err(reason) = defined {
                            self.damage.add(offset, reason);
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Reads the spans that are open now. It is called after [`advance`](Self::advance), so that a span that ends in
    /// between appears in neither result, rather than in both.
    pub(crate) fn open_spans<R: ReadAt + ?Sized>(&mut self, source: &R) -> Result<Vec<OpenSpan>, Error> {
        let mut spans = Vec::new();
        let header = Header::read(source)?;
        if header.is_continued {
            return Ok(spans);
        }
        for open in self.open.iter().filter(|open| open.magic == OPEN_SPANS_MAGIC) {
            let mut bytes = read_chunk(source, open.index)?;
            empty_unstable_slots(&mut bytes, &read_chunk(source, open.index)?);
            if let Some(at) = unreadable_from(&bytes) {
                let offset = open.index * CHUNK_BYTES as u64 + at as u64;
                if !self.damage.is_known(offset) {
                    self.damage.add(offset, "expected a stack of open spans; the rest of the chunk was skipped");
                }
            }
            spans.extend(spans_of_chunk(&bytes));
        }
        if header.is_ring {
            // All events of such a thread may have been overwritten, with its definitions.
            for span in spans.iter().filter(|span| span.os_id != 0) {
                if self.dictionary.thread(span.thread).is_none() {
                    self.dictionary.define_in_ring(span.thread, span.os_id, span.name.as_str().into());
                }
            }
        }
        Ok(spans)
    }

    /// Returns the pieces that were added to the chunks of one kind. Closed chunks are removed from the list.
    fn new_pieces<R: ReadAt + ?Sized>(
        &mut self,
        source: &R,
        is_wanted: impl Fn(u64) -> bool,
    ) -> Result<Vec<Piece>, Error> {
        let mut pieces = Vec::new();
        let mut still_open = Vec::with_capacity(self.open.len());
        for mut open in std::mem::take(&mut self.open) {
            let mut is_closed = false;
            if is_wanted(open.magic) {
                let start = open.index * CHUNK_BYTES as u64;
                // The state is read before the length: the length of a closed chunk is final.
                let [state] = read_words::<1, R>(source, start + 8 * chunk::STATE as u64)?;
                let [len] = read_words::<1, R>(source, start + 8 * chunk::LEN as u64)?;
                let from = open.read_to;
                open.read_to = self.whole_bytes(&open, len).max(from);
                is_closed = state == state::CLOSED;
                if open.read_to > from {
                    let (chunk, to) = (open.index, open.read_to);
                    pieces.push(Piece { chunk, from, to });
                }
            }
            if !is_closed {
                still_open.push(open);
            }
        }
        self.open = still_open;
        Ok(pieces)
    }

    /// Adds the new chunks, and checks again those that were reserved and unused.
    fn find_chunks<R: ReadAt + ?Sized>(&mut self, source: &R) -> Result<(), Error> {
        // Read before anything else of the file: a chunk is reserved and marked before it is counted here.
        let header = Header::read(source)?;
        self.recheck_unused(source)?;
        let size = source.size().map_err(|cause| Error::io("cannot determine the size", cause))?;
        let n_chunks = size.div_ceil(CHUNK_BYTES as u64);
        for index in self.next_chunk..n_chunks {
            let offset = index * CHUNK_BYTES as u64;
            let [magic] = read_words::<1, R>(source, offset)?;
            let read_to = match magic {
                FILE_MAGIC if index == 0 => 8 * file::HEADER_WORDS,
                EVENTS_MAGIC | DEFINITIONS_MAGIC | OPEN_SPANS_MAGIC => 8 * chunk::HEADER_WORDS,
                0 | UNUSED_MAGIC => 0,
                _ => {
                    let message = format!("expected a chunk, found {magic:#018x}; 32 KiB skipped");
                    let may_have_events = header.chunks_used.is_none_or(|n_used| index < n_used);
                    self.damage.add_missing(offset, u64::from(may_have_events) * CHUNK_EVENTS_MAX, message);
                    continue;
                }
            };
            self.open.push(OpenChunk { index, magic, read_to });
        }
        self.next_chunk = self.next_chunk.max(n_chunks);
        self.report_zeroed(source, &header)?;
        self.report_cut_off(&header, size);
        Ok(())
    }

    fn recheck_unused<R: ReadAt + ?Sized>(&mut self, source: &R) -> Result<(), Error> {
        for open in self.open.iter_mut().filter(|open| open.is_unused()) {
            let [magic] = read_words::<1, R>(source, open.index * CHUNK_BYTES as u64)?;
            match magic {
                EVENTS_MAGIC | DEFINITIONS_MAGIC | OPEN_SPANS_MAGIC => {
                    open.magic = magic;
                    open.read_to = 8 * chunk::HEADER_WORDS;
                }
                UNUSED_MAGIC => open.magic = magic,
                _ => {}
            }
        }
        Ok(())
    }

    /// Reports the chunks without a header that have been handed out or, if the version does not state which were, that
    /// have content.
    fn report_zeroed<R: ReadAt + ?Sized>(&mut self, source: &R, header: &Header) -> Result<(), Error> {
        let mut zeroed: Vec<u64> = Vec::new();
        for open in self.open.iter().filter(|open| open.magic == 0) {
            let is_missing = match header.chunks_used {
                Some(n_used) => open.index < n_used,
                None => has_content_without_header(source, open.index)?,
            };
            if is_missing {
                zeroed.push(open.index);
            }
        }
        self.open.retain(|open| open.magic != 0 || zeroed.binary_search(&open.index).is_err());
        for run in zeroed.chunk_by(|index, next| index + 1 == *next) {
            let n_events = run.len() as u64 * CHUNK_EVENTS_MAX;
            let chunks = if run.len() == 1 { "a chunk".to_owned() } else { format!("{} chunks", run.len()) };
            let message = format!("expected {chunks}, found zeros: up to {n_events} events are missing");
            self.damage.add_missing(run[0] * CHUNK_BYTES as u64, n_events, message);
        }
        Ok(())
    }

    /// Reports the chunks that have been handed out and are beyond the end of the file.
    fn report_cut_off(&mut self, header: &Header, size: u64) {
        let n_used = header.chunks_used.unwrap_or(0);
        let first = self.next_chunk.max(self.next_missing);
        if first < n_used {
            let (n_chunks, n_events) = (n_used - first, (n_used - first).saturating_mul(CHUNK_EVENTS_MAX));
            let chunks = if n_chunks == 1 { "1 chunk is".to_owned() } else { format!("{n_chunks} chunks are") };
            let message = format!("the file ends here, {chunks} missing: up to {n_events} events");
            self.damage.add_missing(size, n_events, message);
            self.next_missing = n_used;
        }
    }

    fn whole_bytes(&mut self, open: &OpenChunk, len: u64) -> usize {
        let least = if open.magic == FILE_MAGIC { 8 * file::HEADER_WORDS as u64 } else { HEADER_BYTES };
        if !(least..=CHUNK_BYTES as u64).contains(&len) || !len.is_multiple_of(8) {
            let n_events = events_max(CHUNK_BYTES - open.read_to);
            let text = format!(
                "expected a length of {least} to {CHUNK_BYTES}, found {len}; chunk skipped: up to {n_events} events"
            );
            self.damage.add_missing(open.index * CHUNK_BYTES as u64, n_events, text);
            return open.read_to;
        }
        len as usize
    }

    fn read_definitions<R: ReadAt + ?Sized>(&mut self, source: &R, piece: Piece) -> Result<(), Error> {
        let bytes = read_chunk(source, piece.chunk)?;
        let start = piece.chunk * CHUNK_BYTES as u64;
        let whole = &bytes[..piece.to.min(bytes.len())];
        if whole.len() < piece.to {
            self.damage.add(start + whole.len() as u64, missing_bytes(piece.to - whole.len()));
        }
        let mut at = piece.from;
        while at < whole.len() {
            match Definition::read(&whole[at..]) {
                Ok((Some(definition), size)) => {
                    let offset = start + at as u64;
                    if let Err(reason) = self.dictionary.define(definition, offset) {
                        self.damage.add(offset, reason);
                    }
                    at += size;
                }
                Ok((None, size)) => {
                    self.damage.add(start + at as u64, "an unknown definition was skipped");
                    at += size;
                }
                Err(reason) => {
                    self.damage.add(start + at as u64, format!("{reason}; the rest of the chunk was skipped"));
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

impl Header {
    /// Returns true if the begins of some events may be missing.
    pub(crate) fn may_lack_begins(&self) -> bool {
        self.is_ring || self.part > 1
    }

    /// Reads and checks the header.
    pub(crate) fn read<R: ReadAt + ?Sized>(source: &R) -> Result<Self, Error> {
        let words = read_words::<{ file::HEADER_WORDS }, R>(source, 0)?;
        let size = source.size().map_err(|cause| Error::io("cannot determine the size", cause))?;
        if words[chunk::MAGIC] != FILE_MAGIC {
            let found = printable(words[chunk::MAGIC].to_le_bytes());
            return Err(Error::malformed(0, "a spool, which begins with `FERRUMSP`", found));
        }
        if size < 8 * file::HEADER_WORDS as u64 {
            let expected = format!("a header of {} bytes", 8 * file::HEADER_WORDS);
            return Err(Error::malformed(size, expected, "the end of the file"));
        }
        let version = words[file::VERSION] & 0xffff_ffff;
        if !(OLDEST_VERSION..=VERSION).contains(&version) {
            let offset = 8 * file::VERSION as u64;
            let expected = format!("version {OLDEST_VERSION} to {VERSION}");
            return Err(Error::malformed(offset, expected, format!("version {version}")));
        }
        let chunk_bytes = words[file::VERSION] >> 32;
        if chunk_bytes != CHUNK_BYTES as u64 {
            let offset = 8 * file::VERSION as u64 + 4;
            return Err(Error::malformed(offset, format!("chunks of {CHUNK_BYTES} bytes"), format!("{chunk_bytes}")));
        }
        Ok(Self {
            pid: words[file::PID] as u32,
            chunks_used: (version >= VERSION_WITH_USED_CHUNKS).then_some(words[file::CHUNKS_USED]),
            clock: words[file::CLOCK],
            finished: words[file::FINISHED] == 1,
            wall_nanos: words[file::WALL_NANOS],
            dropped: words[file::DROPPED],
            stop_reason: words[file::STOP_REASON],
            limit: words[file::LIMIT],
            is_ring: words[file::RING] == 1,
            overwritten: words[file::OVERWRITTEN],
            part: words[file::PART],
            is_continued: words[file::CONTINUED] == 1,
            dumps_refused: dumps_refused(&words[file::DUMPS_REFUSED..]),
        })
    }
}

fn dumps_refused(words: &[u64]) -> RefusedDumps {
    let mut refused = RefusedDumps::default();
    DumpRefusal::ALL.iter().zip(words).for_each(|(&reason, &n)| refused.add(reason, n));
    refused
}

/// Returns true if the header of a chunk is zeros and the rest is not.
fn has_content_without_header<R: ReadAt + ?Sized>(source: &R, index: u64) -> Result<bool, Error> {
    let bytes = read_chunk(source, index)?;
    if bytes.iter().all(|&byte| byte == 0) {
        return Ok(false);
    }
    // A thread may have begun to use the chunk since its header was read.
    let [magic] = read_words::<1, R>(source, index * CHUNK_BYTES as u64)?;
    Ok(magic == 0)
}

/// Sorts chunks of definitions by the order in which they were written.
fn sort_by_sequence<R: ReadAt + ?Sized>(source: &R, pieces: &mut Vec<Piece>) -> Result<(), Error> {
    let mut numbered = Vec::with_capacity(pieces.len());
    for piece in pieces.drain(..) {
        let at = piece.chunk * CHUNK_BYTES as u64 + 8 * chunk::SEQUENCE as u64;
        let [sequence] = read_words::<1, R>(source, at)?;
        numbered.push((sequence, piece));
    }
    numbered.sort_by_key(|(sequence, piece)| (*sequence, piece.chunk));
    pieces.extend(numbered.into_iter().map(|(_, piece)| piece));
    Ok(())
}

/// Sorts the chunks of a ring by the time of their first record.
fn sort_by_time<R: ReadAt + ?Sized>(source: &R, pieces: &mut Vec<Piece>) -> Result<(), Error> {
    let begin = |piece: &Piece| -> Result<u64, Error> {
        let first = read_words::<SEGMENT_WORDS, R>(source, piece.chunk * CHUNK_BYTES as u64 + HEADER_BYTES)?;
        let bytes = first.map(u64::to_le_bytes);
        let segment = Record::read(bytes.as_flattened()).ok().filter(|record| record.kind == RecordKind::Segment);
        Ok(segment.map_or(0, |segment| segment.leading(0)))
    };
    let mut timed = Vec::with_capacity(pieces.len());
    for piece in pieces.drain(..) {
        timed.push((begin(&piece)?, piece));
    }
    timed.sort_by_key(|(begin, piece)| (*begin, piece.chunk));
    pieces.extend(timed.into_iter().map(|(_, piece)| piece));
    Ok(())
}

/// Returns the message for a chunk that is shorter than its length.
pub(crate) fn missing_bytes(n_bytes: usize) -> String {
    format!("the file ends here, {n_bytes} bytes of the chunk are missing")
}

fn printable(bytes: [u8; 8]) -> String {
    if bytes == [0; 8] {
        return "nothing, or zeros".to_owned();
    }
    format!("`{}`", bytes.escape_ascii())
}

impl Thread {
    /// Returns the number of lost events of the thread, if it has a count of its own.
    pub(crate) fn dropped<R: ReadAt + ?Sized>(&self, source: &R) -> Result<Option<u64>, Error> {
        let count = |at| read_words::<1, R>(source, at).map(|[dropped]| dropped);
        self.dropped_at.map(count).transpose()
    }
}

/// Reads the words at `offset`; zeros after the end.
pub(crate) fn read_words<const N: usize, R: ReadAt + ?Sized>(source: &R, offset: u64) -> Result<[u64; N], Error> {
    let mut bytes = [[0; 8]; N];
    source.read_at(bytes.as_flattened_mut(), offset).map_err(|cause| Error::io("cannot read the spool", cause))?;
    Ok(bytes.map(u64::from_le_bytes))
}

/// Reads a chunk; the result is shorter at the end of a truncated file.
pub(crate) fn read_chunk<R: ReadAt + ?Sized>(source: &R, index: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = vec![0; CHUNK_BYTES];
    read_chunk_into(source, index, &mut bytes)?;
    Ok(bytes)
}

/// Reads a chunk like [`read_chunk`] into a reused buffer.
pub(crate) fn read_chunk_into<R: ReadAt + ?Sized>(source: &R, index: u64, bytes: &mut Vec<u8>) -> Result<(), Error> {
    bytes.resize(CHUNK_BYTES, 0);
    let n_bytes =
        source.read_at(bytes, index * CHUNK_BYTES as u64).map_err(|cause| Error::io("cannot read the spool", cause))?;
    bytes.truncate(n_bytes);
    Ok(())
}
