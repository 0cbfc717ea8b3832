//! Whatever a trace comes in, as one stream of Chrome trace events.
//!
//! What a file is, its first bytes say, not its name: gzip, zstd or zip around it (also one in the other), then a spool, a
//! Perfetto trace, a layerwise profile of vLLM, or JSON.

mod bounded;
pub mod channel;
mod layerwise;
mod peeked;
mod zipped;

use crate::Error;
use crate::perfetto::read as perfetto;
use crate::spool::{Converter, OutputFormat, is_spool};
use bounded::Bounded;
use peeked::Peeked;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// How deep containers may be nested.
const CONTAINERS_MAX: usize = 4;

/// What is around a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// gzip, also several members one after the other.
    Gzip,
    /// zstd, also several frames one after the other.
    Zstd,
    /// zip.
    Zip,
}

impl Container {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Zip => "zip",
        }
    }
}

/// What a trace is, without what is around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// Chrome trace events as JSON, or something else: that is seen when it is read.
    Json,
    /// What the recorder writes.
    Spool,
    /// Perfetto's protobuf.
    Perfetto,
    /// The times of a model's layers, as vLLM's layerwise profiler writes them.
    Layerwise,
}

impl TraceFormat {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "Chrome trace JSON",
            Self::Spool => "ferrum-trace spool",
            Self::Perfetto => "Perfetto trace",
            Self::Layerwise => "vLLM layerwise profile",
        }
    }
}

/// What is worth saying about a file, and is known only when it has been read.
#[derive(Clone, Debug, Default)]
pub struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    /// All that were made so far.
    pub fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, note: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(note);
    }
}

/// A trace that is open. Reading it gives Chrome trace events as JSON; several documents, from a zip with several files,
/// have a record separator (0x1e) before each.
pub struct Opened {
    stream: Box<dyn Read + Send>,
    /// What is around it, from the outside inwards.
    pub containers: Vec<Container>,
    /// What it is.
    pub kind: TraceFormat,
    /// What becomes known when it is read.
    pub notes: Notes,
}

impl Read for Opened {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.read(buffer)
    }
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened").field("containers", &self.containers).field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// Opens a trace that comes as a stream. What cannot be read from front to back, a spool or a zip, is copied to a
/// temporary file first.
///
/// # Errors
///
/// If it cannot be read, or what is around it is broken at its very beginning.
pub fn open(input: impl Read + Send + 'static) -> Result<Opened, Error> {
    Opening::default().open(Box::new(input), None)
}

/// Opens a trace in a file.
///
/// # Errors
///
/// As [`open`].
pub fn open_file(file: File) -> Result<Opened, Error> {
    let again = file.try_clone().map_err(cannot_read)?;
    Opening::default().open(Box::new(file), Some(again))
}

/// What has been found so far.
#[derive(Default)]
struct Opening {
    containers: Vec<Container>,
    notes: Notes,
}

impl Opening {
    /// `file` is the same as `input`, if that is a file and nothing is around it.
    fn open(mut self, input: Box<dyn Read + Send>, file: Option<File>) -> Result<Opened, Error> {
        let input = Peeked::new(input).map_err(unpacking_failed)?;
        let head = input.head();
        if is_spool(head) {
            return self.spool(whole(input, file)?);
        }
        if let Some(container) = container_of(head) {
            if self.containers.len() == CONTAINERS_MAX {
                return Err(Error::form(0, "a trace", format!("more than {CONTAINERS_MAX} containers in each other")));
            }
            self.containers.push(container);
            return self.unpack(container, input, file);
        }
        self.trace(input)
    }

    fn unpack(self, container: Container, input: Peeked, file: Option<File>) -> Result<Opened, Error> {
        let notes = self.notes.clone();
        let stream: Box<dyn Read + Send> = match container {
            Container::Gzip => Box::new(Bounded::new(input, notes, "gzip", flate2::read::MultiGzDecoder::new)),
            Container::Zstd => {
                let (input, n_packed) = bounded::counted(input);
                let decoder = zstd::stream::read::Decoder::new(input).map_err(unpacking_failed)?;
                Box::new(Bounded::around(decoder, n_packed, notes, "zstd"))
            }
            Container::Zip => return zipped::open(self, whole(input, file)?),
        };
        self.open(stream, None)
    }

    fn trace(self, input: Peeked) -> Result<Opened, Error> {
        let head = input.head();
        if perfetto::is_pftrace(head) {
            let notes = self.notes.clone();
            let stream = channel::spawn(move |output| {
                let summary = perfetto::to_chrome(input, output)?;
                for note in perfetto_notes(&summary) {
                    notes.add(note);
                }
                Ok(())
            })?;
            return Ok(self.opened(Box::new(stream), TraceFormat::Perfetto));
        }
        if layerwise::is_layerwise(head) {
            let json = layerwise::to_chrome(input)?;
            return Ok(self.opened(Box::new(io::Cursor::new(json)), TraceFormat::Layerwise));
        }
        Ok(self.opened(Box::new(input), TraceFormat::Json))
    }

    fn spool(self, file: File) -> Result<Opened, Error> {
        let mut converter = Converter::open(&file, OutputFormat::default())?;
        let notes = self.notes.clone();
        let stream = channel::spawn(move |output| {
            converter.convert_new(&file, output, 1)?;
            let tail = converter.tail(&file)?;
            output.write_all(&tail).map_err(|cause| Error::io("cannot convert", cause))?;
            let summary = converter.summary(&file)?;
            for damage in &summary.diagnostics {
                notes.add(damage.to_string());
            }
            Ok(())
        })?;
        Ok(self.opened(Box::new(stream), TraceFormat::Spool))
    }

    fn opened(self, stream: Box<dyn Read + Send>, kind: TraceFormat) -> Opened {
        Opened { stream, containers: self.containers, kind, notes: self.notes }
    }
}

fn container_of(head: &[u8]) -> Option<Container> {
    match head {
        [0x1f, 0x8b, ..] => Some(Container::Gzip),
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Container::Zstd),
        [b'P', b'K', 3, 4, ..] => Some(Container::Zip),
        _ => None,
    }
}

/// What a reader of a Perfetto trace should know of what was not read.
fn perfetto_notes(summary: &perfetto::Summary) -> Vec<String> {
    let n_passed_over: u64 = summary.passed_over.values().sum();
    let counts = [
        (n_passed_over, "packets are of kinds that are no track events, and are not read"),
        (summary.n_without_state, "events refer to names or tracks that were lost before them"),
        (summary.n_unknown_clock, "events are of a clock that cannot be compared with that of the trace"),
        (summary.n_undefined, "definitions of names found no room"),
    ];
    let counted = counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
    counted.chain(summary.losses.first.iter().map(ToString::to_string)).collect()
}

/// A file with all of the stream, from its beginning.
fn whole(mut input: Peeked, file: Option<File>) -> Result<File, Error> {
    let mut file = match file {
        Some(file) => file,
        None => {
            let mut copy = tempfile::tempfile().map_err(cannot_copy)?;
            io::copy(&mut input, &mut copy).map_err(cannot_copy)?;
            copy
        }
    };
    file.rewind().map_err(cannot_read)?;
    Ok(file)
}

fn cannot_read(cause: io::Error) -> Error {
    Error::io("cannot read", cause)
}

fn cannot_copy(cause: io::Error) -> Error {
    Error::io("cannot copy to a temporary file", cause)
}

fn unpacking_failed(cause: io::Error) -> Error {
    match cause.downcast::<Error>() {
        Ok(error) => error,
        Err(cause) => Error::io("cannot read", cause),
    }
}
