//! Converts a spool, or its new part, to an output format.

use super::begins_present::BeginsPresent;
use super::diagnostic::Damage;
use super::encode_chrome::ChromeFile;
use super::encode_perfetto::PerfettoFile;
use super::encoding::{About, FileEncoder};
use super::facts;
use super::layout::CLOCK_TICKS;
use super::open_slices::OpenSlices;
use super::open_span::OpenSpan;
use super::output_format::{Encoding, OutputFormat};
use super::piece::{PieceOutput, PieceWriter};
use super::progress::{Header, Piece, Progress, read_chunk_into};
use super::spool_writer::{FileState, SpoolWriter, WriteOptions};
use super::summary::Summary;
use crate::ordered::in_order;
use crate::pack::{Packer, Packing};
use crate::{Error, ReadAt};
use ferrum_trace_model::{Recording, Trigger};
use std::io::Write;
use std::sync::{Mutex, PoisonError};

/// Number of chunks that a worker converts at a time: about 2 MB of text.
const UNIT_CHUNKS: usize = 8;

/// Counts of one call of [`Converter::convert_new`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// PieceOutput events.
    pub events: u64,
    /// PieceOutput bytes.
    pub bytes: u64,
}

/// Converts a spool to an output format, also while the spool still grows.
///
/// The file is the output of all calls of [`convert_new`](Self::convert_new), followed by the [`tail`](Self::tail),
/// which the next call overwrites.
#[derive(Debug)]
pub struct Converter {
    progress: Progress,
    file: File,
    packing: Packing,
    state: FileState,
    /// The begins in the spool, if some may be missing.
    begins: Option<BeginsPresent>,
    /// Spans that were open when the events of the last batch were listed.
    open_spans: Vec<OpenSpan>,
    n_events: u64,
    /// The trigger, if the file is a dump.
    trigger: Option<Trigger>,
}

/// Encoder of the file, with its state.
#[derive(Debug)]
enum File {
    Chrome(ChromeFile<false>),
    ChromeWholeMicros(ChromeFile<true>),
    Perfetto(Box<PerfettoFile>),
}

impl Converter {
    /// Creates a converter and checks that `source` is a spool.
    pub fn open<R: ReadAt + ?Sized>(source: &R, format: OutputFormat) -> Result<Self, Error> {
        let file = match format.encoding {
            Encoding::Chrome => File::Chrome(ChromeFile::default()),
            Encoding::ChromeWholeMicros => File::ChromeWholeMicros(ChromeFile::default()),
            Encoding::Perfetto => File::Perfetto(Box::default()),
        };
        Ok(Self {
            progress: Progress::start(source)?,
            file,
            packing: format.packing,
            state: FileState::default(),
            begins: Header::read(source)?.may_lack_begins().then(BeginsPresent::new),
            open_spans: Vec::new(),
            n_events: 0,
            trigger: None,
        })
    }

    /// Marks the file as a dump with this trigger.
    pub fn with_trigger(self, trigger: Option<Trigger>) -> Self {
        Self { trigger, ..self }
    }

    /// Writes the new events since the last call, with up to `n_workers` threads.
    pub fn convert_new<R, W>(&mut self, source: &R, out: &mut W, n_workers: usize) -> Result<Batch, Error>
    where
        R: ReadAt + ?Sized,
        W: Write + Send + ?Sized,
    {
        self.convert_growing(source, out, n_workers, || ())
    }

    /// Does the same as [`convert_new`](Self::convert_new) for a spool that is being recorded. `events_are_seen` is
    /// called once the events to write are known: a calibration point added then is later than all of them, so later
    /// calls map their times to the same values.
    pub fn convert_growing<R, W>(
        &mut self,
        source: &R,
        out: &mut W,
        n_workers: usize,
        events_are_seen: impl FnOnce(),
    ) -> Result<Batch, Error>
    where
        R: ReadAt + ?Sized,
        W: Write + Send + ?Sized,
    {
        let pieces = self.progress.advance(source, events_are_seen)?;
        self.open_spans = self.progress.open_spans(source)?;
        let Self { progress, state, packing, begins, open_spans, .. } = self;
        if let Some(begins) = begins {
            begins.find(source, &pieces, &progress.dictionary)?;
        }
        let new_part = NewPart { source, pieces: &pieces, begins: begins.as_ref(), open_spans };
        let options = WriteOptions { packing: *packing, n_workers };
        let dictionary = &progress.dictionary;
        let (written, damage) = match &mut self.file {
            File::Chrome(file) => new_part.write(SpoolWriter::new(out, file, state, dictionary, options)?),
            File::ChromeWholeMicros(file) => new_part.write(SpoolWriter::new(out, file, state, dictionary, options)?),
            File::Perfetto(file) => new_part.write(SpoolWriter::new(out, &mut **file, state, dictionary, options)?),
        };
        progress.damage.merge(damage);
        let batch = written?;
        self.open_spans.retain(|span| !self.state.has_ended(span));
        self.n_events += batch.events;
        Ok(batch)
    }

    /// Returns the end of the file: ends for open spans and async events, the facts about the recording, and the
    /// closing bytes of the format.
    pub fn tail<R: ReadAt + ?Sized>(&self, source: &R) -> Result<Vec<u8>, Error> {
        let summary = self.summary(source)?;
        // An empty recording states nothing, except that it continues an earlier part.
        let is_stated = self.state.has_threads()
            || summary.dropped > 0
            || summary.n_diagnostics > 0
            || Header::read(source)?.part > 0;
        let about = is_stated.then(|| self.about(source, &summary)).transpose()?;
        let dictionary = &self.progress.dictionary;
        let open = OpenSlices::new(source, &self.open_spans, dictionary);
        let end = open.end().max(self.state.open_asyncs.last());
        let open = open.events(dictionary, end);
        let ends = self.state.open_asyncs.ends(dictionary, end);
        let tail = match &self.file {
            File::Chrome(file) => file.tail(&ends, &open, about.as_ref()),
            File::ChromeWholeMicros(file) => file.tail(&ends, &open, about.as_ref()),
            File::Perfetto(file) => file.tail(&ends, &open, about.as_ref()),
        };
        Packer::new(self.packing)?.finish(&self.state.checksum, &tail)
    }

    /// Returns true if any event was written or any span is open. Otherwise the file has no content that could replace
    /// another trace.
    pub fn has_events(&self) -> bool {
        self.n_events > 0 || !self.open_spans.is_empty()
    }

    /// Returns the facts about the recording so far.
    pub fn summary<R: ReadAt + ?Sized>(&self, source: &R) -> Result<Summary, Error> {
        let mut summary = self.progress.summary(source, self.n_events)?;
        let dictionary = &self.progress.dictionary;
        let open = OpenSlices::new(source, &self.open_spans, dictionary);
        summary.recording.unfinished = self.open_spans.len() as u64;
        summary.recording.unfinished_by_thread = open.by_thread(dictionary);
        summary.recording.lost_texts = self.state.n_lost_texts;
        Ok(summary)
    }

    fn about<R: ReadAt + ?Sized>(&self, source: &R, summary: &Summary) -> Result<About, Error> {
        let header = Header::read(source)?;
        let clock = if header.clock == CLOCK_TICKS { "ticks" } else { "monotonic" };
        let recording = Recording { trigger: self.trigger.clone(), ..summary.recording.clone() };
        let lost = (summary.dropped > 0).then(|| lost_text(summary, header.limit));
        Ok(About { pid: summary.pid, lost, facts: facts::encode(&recording, clock) })
    }
}

fn lost_text(summary: &Summary, limit: u64) -> String {
    let limit = format!("{limit} bytes");
    let why =
        summary.stop_reason.map_or_else(String::new, |reason| format!(": {}", reason.describe_with_limit(&limit)));
    format!("{} events lost{why}", summary.dropped)
}

/// The new part of a spool.
struct NewPart<'a, R: ?Sized> {
    source: &'a R,
    pieces: &'a [Piece],
    begins: Option<&'a BeginsPresent>,
    open_spans: &'a [OpenSpan],
}

/// Buffers and compressors for reuse by workers.
#[derive(Default)]
struct Reusable {
    memory: Vec<Vec<u8>>,
    packers: Vec<Packer>,
}

impl<R: ReadAt + ?Sized> NewPart<'_, R> {
    fn write<W, F>(&self, mut sink: SpoolWriter<'_, W, F>) -> (Result<Batch, Error>, Damage)
    where
        W: Write + Send + ?Sized,
        F: FileEncoder + Send,
    {
        let written = sink
            .open()
            .and_then(|()| self.write_pieces(&mut sink))
            .and_then(|()| sink.place_loose())
            .and_then(|()| sink.name_threads_of(self.open_spans))
            .and_then(|()| sink.rename());
        (written.map(|()| sink.batch), sink.damage)
    }

    /// Workers take pieces in order, encode and compress them in parallel, and write them to the file in order.
    fn write_pieces<W, F>(&self, sink: &mut SpoolWriter<'_, W, F>) -> Result<(), Error>
    where
        W: Write + Send + ?Sized,
        F: FileEncoder + Send,
    {
        let &Self { source, pieces, begins, .. } = self;
        let units: Vec<&[Piece]> = pieces.chunks(UNIT_CHUNKS).collect();
        let (dictionary, options) = (sink.dictionary, sink.options);
        let reusable = Mutex::new(Reusable::default());
        let lock_reusable = || reusable.lock().unwrap_or_else(PoisonError::into_inner);
        let take_memory = || lock_reusable().memory.pop().unwrap_or_default();
        let pack = |packer: &mut Packer, written: &mut PieceOutput| -> Result<(), Error> {
            if options.packing == Packing::Plain || written.events.is_empty() {
                return Ok(());
            }
            let mut packed = take_memory();
            written.checksum = packer.pack(&written.events, &mut packed)?;
            let mut plain = std::mem::replace(&mut written.events, packed);
            plain.clear();
            lock_reusable().memory.push(plain);
            Ok(())
        };
        let make = |unit: usize, emit: &mut dyn FnMut(PieceOutput) -> Result<(), Error>| {
            let packer = lock_reusable().packers.pop();
            let mut packer = packer.map_or_else(|| Packer::new(options.packing), Ok)?;
            let mut writer = PieceWriter::new(source, dictionary, begins, F::event_encoder(take_memory()));
            let mut bytes = Vec::new();
            let mut pack_and_emit = |mut written: PieceOutput| {
                pack(&mut packer, &mut written)?;
                emit(written)
            };
            for &piece in units[unit] {
                read_chunk_into(source, piece.chunk, &mut bytes)?;
                writer.write(piece, &bytes, &mut pack_and_emit)?;
            }
            pack_and_emit(writer.take())?;
            lock_reusable().packers.push(packer);
            Ok(())
        };
        let hand_over = |written| {
            let emptied = sink.accept(written)?;
            lock_reusable().memory.push(emptied);
            Ok(())
        };
        in_order(units.len(), options.n_workers, make, hand_over)
    }
}

/// Writes a whole spool in an output format, with up to `n_workers` threads.
pub fn to_format<R, W>(source: &R, out: &mut W, format: OutputFormat, n_workers: usize) -> Result<Summary, Error>
where
    R: ReadAt + ?Sized,
    W: Write + Send + ?Sized,
{
    write_whole(Converter::open(source, format)?, source, out, n_workers)
}

/// Writes a whole spool with a new converter.
pub fn write_whole<R, W>(mut converter: Converter, source: &R, out: &mut W, n_workers: usize) -> Result<Summary, Error>
where
    R: ReadAt + ?Sized,
    W: Write + Send + ?Sized,
{
    converter.convert_new(source, out, n_workers)?;
    let tail = converter.tail(source)?;
    out.write_all(&tail).map_err(|cause| Error::io("cannot write", cause))?;
    converter.summary(source)
}

/// Writes a whole spool as Chrome trace events, with up to `n_workers` threads.
pub fn to_chrome<R, W>(source: &R, out: &mut W, n_workers: usize) -> Result<Summary, Error>
where
    R: ReadAt + ?Sized,
    W: Write + Send + ?Sized,
{
    to_format(source, out, OutputFormat::default(), n_workers)
}

/// Converts a spool in memory to Chrome trace events.
pub fn to_chrome_bytes(spool: &[u8]) -> Result<(Vec<u8>, Summary), Error> {
    let mut out = Vec::new();
    let summary = to_chrome(spool, &mut out, 1)?;
    Ok((out, summary))
}
