//! Opens a trace of any supported format as a stream of Chrome trace events.
//!
//! The first bytes of the file decide, not its name: containers (gzip, zstd, zip, also nested), then a spool, a
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

/// Maximum nesting depth of containers.
const CONTAINERS_MAX: usize = 4;

/// A container around a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// gzip with one or more members.
    Gzip,
    /// zstd with one or more frames.
    Zstd,
    /// zip.
    Zip,
}

impl Container {
    /// Returns the display name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Zip => "zip",
        }
    }
}

/// The format of a trace, inside its containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// Chrome trace events as JSON, or unknown input: the reader will report that.
    Json,
    /// The spool of our recorder.
    Spool,
    /// Perfetto's protobuf.
    Perfetto,
    /// The times of a model's layers, from vLLM's layerwise profiler.
    Layerwise,
}

impl TraceFormat {
    /// Returns the display name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "Chrome trace JSON",
            Self::Spool => "ferrum-trace spool",
            Self::Perfetto => "Perfetto trace",
            Self::Layerwise => "vLLM layerwise profile",
        }
    }
}

/// Remarks about a file that become known while it is read.
#[derive(Clone, Debug, Default)]
pub struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    /// Returns all notes so far.
    pub fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, note: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(note);
    }
}

/// An open trace. Reading it yields Chrome trace events as JSON. If it has several documents, from a zip with several
/// files, each is preceded by a record separator (0x1e).
pub struct Opened {
    stream: Box<dyn Read + Send>,
    /// The containers, outermost first.
    pub containers: Vec<Container>,
    /// The format.
    pub kind: TraceFormat,
    /// Remarks that are added while the trace is read.
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

/// Opens a trace from a stream. A spool or a zip needs random access and is copied to a temporary file first.
///
/// # Errors
///
/// If the stream cannot be read, or a container is invalid at its start.
pub fn open(input: impl Read + Send + 'static) -> Result<Opened, Error> {
    Opening::default().open(Box::new(input), None)
}

/// Opens a trace from a file.
///
/// # Errors
///
/// The errors of [`open`].
pub fn open_file(file: File) -> Result<Opened, Error> {
    let again = file.try_clone().map_err(cannot_read)?;
    Opening::default().open(Box::new(file), Some(again))
}

/// The state of opening a trace.
#[derive(Default)]
struct Opening {
    containers: Vec<Container>,
    notes: Notes,
}

impl Opening {
    /// Opens `input`. `file` is the same data as a file, if it is one and has no container.
    fn open(mut self, input: Box<dyn Read + Send>, file: Option<File>) -> Result<Opened, Error> {
        let input = Peeked::new(input).map_err(unpacking_failed)?;
        let head = input.head();
        if is_spool(head) {
            return self.spool(whole(input, file)?);
        }
        if let Some(container) = container_of(head) {
            if self.containers.len() == CONTAINERS_MAX {
                return Err(Error::malformed(0, "a trace", format!("more than {CONTAINERS_MAX} nested containers")));
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

/// Returns notes about the packets and events of a Perfetto trace that were not read.
fn perfetto_notes(summary: &perfetto::Summary) -> Vec<String> {
    let n_skipped: u64 = summary.skipped.values().sum();
    let counts = [
        (n_skipped, "packets are not track events and are not read"),
        (summary.n_without_state, "events refer to lost names or tracks"),
        (summary.n_unknown_clock, "events have a clock that was never compared with the clock of the trace"),
        (summary.n_undefined, "definitions of names exceed the size limit"),
    ];
    let counted = counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
    counted.chain(summary.losses.first.iter().map(ToString::to_string)).collect()
}

/// Returns a file with the whole content of the stream, at its start.
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
