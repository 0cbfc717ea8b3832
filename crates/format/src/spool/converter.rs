//! A spool, or what is new in it, as a file of Chrome trace events.

use super::begun::Begun;
use super::layout::{CLOCK_TICKS, StopReason};
use super::ordered::in_order;
use super::piece::{PieceWriter, Written};
use super::sink::{FileState, Sink, push_metadata};
use super::source::{Header, Piece, Progress, read_chunk_into};
use super::summary::Summary;
use crate::chrome::{push_decimal, push_text};
use crate::{Error, ReadAt};
use ferrum_trace_model::vocab::about;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

/// Chunks that a worker turns into text at a time: about 2 MB of it.
const UNIT_CHUNKS: usize = 8;

/// What one call of [`ChromeConverter::convert_new`] wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Events.
    pub events: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Turns a spool into Chrome trace events, also one that still grows.
///
/// The file is what all calls of [`convert_new`](Self::convert_new) wrote, one after the other, and then
/// [`tail`](Self::tail), which the next batch replaces.
#[derive(Debug)]
pub struct ChromeConverter {
    progress: Progress,
    state: FileState,
    has_opened: bool,
    n_events: u64,
}

impl ChromeConverter {
    /// Checks that `source` is a spool.
    pub fn open<R: ReadAt + ?Sized>(source: &R) -> Result<Self, Error> {
        Ok(Self { progress: Progress::start(source)?, state: FileState::default(), has_opened: false, n_events: 0 })
    }

    /// Writes what is new since the last call, with up to `n_workers` threads.
    pub fn convert_new<R, W>(&mut self, source: &R, out: &mut W, n_workers: usize) -> Result<Batch, Error>
    where
        R: ReadAt + ?Sized,
        W: Write + Send + ?Sized,
    {
        let pieces = self.progress.advance(source)?;
        let is_ring = Header::read(source)?.is_ring;
        let begun = is_ring.then(|| Begun::find(source, &pieces, &self.progress.dictionary)).transpose()?;
        let mut sink = Sink::new(out, &mut self.state, &self.progress.dictionary);
        if !self.has_opened {
            sink.write_plain(b"[")?;
            self.has_opened = true;
        }
        let written = write_pieces(source, &pieces, begun.as_ref(), &mut sink, n_workers)
            .and_then(|()| sink.place_loose())
            .and_then(|()| sink.rename());
        let Sink { batch, damage, .. } = sink;
        self.progress.damage.merge(damage);
        self.n_events += batch.events;
        written.map(|()| batch)
    }

    /// What closes the file: counts and clock of the recording, what was lost, and the bracket.
    pub fn tail<R: ReadAt + ?Sized>(&self, source: &R) -> Result<Vec<u8>, Error> {
        let summary = self.summary(source)?;
        let mut tail = Vec::new();
        if self.state.has_threads() || summary.dropped > 0 {
            self.push_about(source, &summary, &mut tail)?;
        }
        if !self.state.has_begun && !tail.is_empty() {
            tail.remove(0);
        }
        tail.extend_from_slice(b"\n]\n");
        Ok(tail)
    }

    /// What is known of the recording so far.
    pub fn summary<R: ReadAt + ?Sized>(&self, source: &R) -> Result<Summary, Error> {
        self.progress.summary(source, self.n_events)
    }

    fn push_about<R: ReadAt + ?Sized>(&self, source: &R, summary: &Summary, out: &mut Vec<u8>) -> Result<(), Error> {
        let header = Header::read(source)?;
        let start = self.progress.dictionary.calibration.start_nanos();
        if summary.dropped > 0 {
            let text = lost_text(summary, header.limit);
            out.extend_from_slice(b",\n{\"name\":");
            push_text(out, &text);
            let time = ",\"cat\":\"ferrum_trace\",\"ph\":\"i\",\"s\":\"p\",\"ts\":0.000";
            out.extend_from_slice(format!("{time},\"pid\":{},\"tid\":{}}}", summary.pid, summary.pid).as_bytes());
        }
        push_metadata(out, about::NAME, summary.pid, summary.pid);
        let clock = if header.clock == CLOCK_TICKS { "ticks" } else { "monotonic" };
        let numbers = [
            ("recorded", summary.events),
            ("dropped", summary.dropped),
            (about::START_MONOTONIC_NS, start),
            (about::START_UNIX_NS, header.wall_nanos),
        ];
        out.extend_from_slice(b",\"args\":{\"version\":");
        push_text(out, env!("CARGO_PKG_VERSION"));
        out.extend_from_slice(format!(",\"clock\":\"{clock}\"").as_bytes());
        let of_ring = [("ring_bytes", header.limit), (about::OVERWRITTEN, header.overwritten)];
        for (key, number) in numbers.into_iter().chain(of_ring.into_iter().filter(|_| header.is_ring)) {
            out.extend_from_slice(format!(",\"{key}\":{number}").as_bytes());
        }
        self.push_origin(summary.pid, out);
        self.push_dropped_by_thread(source, out)?;
        out.extend_from_slice(b"}}");
        Ok(())
    }

    fn push_origin(&self, pid: u32, out: &mut Vec<u8>) {
        let Some(origin) = &self.progress.dictionary.origin else {
            return;
        };
        out.extend_from_slice(format!(",\"{}\":{pid}", about::PID).as_bytes());
        if let Some(rank) = origin.rank {
            out.extend_from_slice(format!(",\"{}\":{rank}", about::RANK).as_bytes());
        }
        for (key, text) in [(about::HOST, &origin.host), (about::BOOT_ID, &origin.boot_id)] {
            if !text.is_empty() {
                out.extend_from_slice(format!(",\"{key}\":").as_bytes());
                push_text(out, text);
            }
        }
    }

    fn push_dropped_by_thread<R: ReadAt + ?Sized>(&self, source: &R, out: &mut Vec<u8>) -> Result<(), Error> {
        let mut n_threads = 0;
        for (_, thread) in self.progress.dictionary.threads() {
            let dropped = thread.dropped(source)?;
            if dropped == 0 {
                continue;
            }
            out.extend_from_slice(if n_threads == 0 { b",\"dropped_by_thread\":{" } else { b"," });
            push_text(out, &format!("{} {}", thread.track.name, thread.track.id));
            out.push(b':');
            push_decimal(out, dropped);
            n_threads += 1;
        }
        if n_threads > 0 {
            out.push(b'}');
        }
        Ok(())
    }
}

fn lost_text(summary: &Summary, limit: u64) -> String {
    let why = match summary.stop_reason {
        Some(StopReason::Limit) => format!(": the limit of {limit} bytes was reached"),
        Some(StopReason::NoSpace) => ": no space was left on the device".to_owned(),
        Some(StopReason::Io) => ": the spool could not be enlarged".to_owned(),
        None => String::new(),
    };
    format!("{} events lost{why}", summary.dropped)
}

/// Workers take the pieces in order, write them into memory at the same time, and hand them to the file in order.
fn write_pieces<R, W>(
    source: &R,
    pieces: &[Piece],
    begun: Option<&Begun>,
    sink: &mut Sink<'_, W>,
    n_workers: usize,
) -> Result<(), Error>
where
    R: ReadAt + ?Sized,
    W: Write + Send + ?Sized,
{
    let units: Vec<&[Piece]> = pieces.chunks(UNIT_CHUNKS).collect();
    let dictionary = sink.dictionary;
    let memory = Mutex::new(Vec::new());
    let lock_memory = || memory.lock().unwrap_or_else(PoisonError::into_inner);
    let make = |unit: usize, emit: &mut dyn FnMut(Written) -> Result<(), Error>| {
        let events = lock_memory().pop().unwrap_or_default();
        let mut writer = PieceWriter::new(source, dictionary, begun, events);
        let mut bytes = Vec::new();
        for &piece in units[unit] {
            read_chunk_into(source, piece.chunk, &mut bytes)?;
            writer.write(piece, &bytes, emit)?;
        }
        emit(writer.written)
    };
    let hand_over = |written| {
        let emptied = sink.accept(written)?;
        lock_memory().push(emptied);
        Ok(())
    };
    in_order(units.len(), n_workers, make, hand_over)
}

/// Writes a whole spool as Chrome trace events, with up to `n_workers` threads.
pub fn to_chrome<R, W>(source: &R, out: &mut W, n_workers: usize) -> Result<Summary, Error>
where
    R: ReadAt + ?Sized,
    W: Write + Send + ?Sized,
{
    let mut converter = ChromeConverter::open(source)?;
    converter.convert_new(source, out, n_workers)?;
    let tail = converter.tail(source)?;
    out.write_all(&tail).map_err(|cause| Error::io("cannot write", cause))?;
    converter.summary(source)
}

/// [`to_chrome`] for a spool in memory.
pub fn to_chrome_bytes(spool: &[u8]) -> Result<(Vec<u8>, Summary), Error> {
    let mut out = Vec::new();
    let summary = to_chrome(spool, &mut out, 1)?;
    Ok((out, summary))
}
