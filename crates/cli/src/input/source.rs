//! Opening a trace, wherever it is: a file, a spool, a compressed file, a stream.

use super::paths::{Input, Unrecovered};
use super::recovered_text::report_recovered;
use super::recovery::{Outcome, Recovery};
use super::replay::{Replay, Replayed};
use super::spool_file::{Owner, SpoolFile};
use crate::os::file_id::FileId;
use crate::render::messages::Messages;
use crate::render::progress::{Progress, WatchedRead};
use crate::user_error::UserError;
use ferrum_trace_format::chrome::read::{LoadOptions, Loaded, load, load_async_args};
use ferrum_trace_format::open::{self, Container, Notes, Opened, TraceFormat};
use ferrum_trace_format::spool::is_spool;
use ferrum_trace_format::{Error, ReadAt};
use std::borrow::Borrow;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Number of times that a trace will be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passes {
    One,
    Several,
    /// Several passes over one of many traces. The file is open only while it is read, because the number of open files
    /// is limited.
    SeveralOfMany,
}

/// A trace to read.
pub(crate) struct Source {
    /// Name in JSON.
    pub(crate) name: String,
    /// Name in messages.
    pub(crate) label: String,
    /// Path of the file; `None` for standard input.
    pub(crate) path: Option<PathBuf>,
    bytes: Bytes,
}

/// An opened trace.
pub(crate) struct OpenTrace {
    pub(crate) reader: TraceReader,
    pub(crate) facts: TraceFacts,
}

/// Facts about a trace that opening it reveals.
#[derive(Clone, Debug)]
pub(crate) struct TraceFacts {
    /// Containers of the trace, outermost first.
    pub(crate) containers: Vec<Container>,
    pub(crate) kind: TraceFormat,
    notes: Notes,
}

impl TraceFacts {
    /// Returns remarks of the reader. They are complete once the trace has been read.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.notes.all()
    }
}

/// Reads a trace as Chrome trace events.
pub(crate) struct TraceReader {
    opened: Opened,
    /// Progress in uncompressed bytes, if the source itself does not report progress.
    progress: Option<Progress>,
}

impl Read for TraceReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_bytes = self.opened.read(buffer)?;
        if let Some(progress) = &self.progress {
            progress.advance(n_bytes as u64);
        }
        Ok(n_bytes)
    }
}

/// Opens a trace for an analysis that reads it several times, and keeps the facts of the last opening.
pub(crate) struct Reopen<S> {
    source: S,
    facts: Mutex<Option<TraceFacts>>,
}

impl<S: Borrow<Source>> Reopen<S> {
    pub(crate) fn new(source: S) -> Self {
        Self { source, facts: Mutex::default() }
    }

    pub(crate) fn source(&self) -> &Source {
        self.source.borrow()
    }

    /// Opens the trace from its start.
    pub(crate) fn open(&self) -> Result<Box<dyn Read + Send>, Error> {
        let OpenTrace { reader, facts } = self.source().open()?;
        *self.facts.lock().unwrap_or_else(PoisonError::into_inner) = Some(facts);
        Ok(Box::new(reader))
    }

    /// Returns the facts of the last opening; `None` if the trace was not opened.
    pub(crate) fn facts(&self) -> Option<TraceFacts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the remarks of the last reader; none if the trace was not opened.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.facts().map(|facts| facts.notes()).unwrap_or_default()
    }
}

enum Bytes {
    /// A file, up to the size that it had when it was found. It may grow.
    File {
        file: Arc<File>,
        n_bytes: u64,
    },
    /// A file that is read in random order: a spool or a zip.
    Seekable(File),
    /// A file that is open only while it is read.
    Named(NamedFile),
    /// A stream; taken by the first opening.
    Stream(Mutex<Option<Box<dyn Read + Send>>>),
    Replay(Arc<Mutex<Replay>>),
}

impl Source {
    /// Finds a trace. If it is missing and its spool exists, it is recovered first.
    pub(crate) fn of(input: Input, passes: Passes, messages: &Messages) -> Result<Self, UserError> {
        let input = match input {
            Input::Unrecovered(unrecovered) => recover_or_read_spool(unrecovered, messages),
            other => other,
        };
        let bytes = match input.path() {
            None if io::stdin().is_terminal() => {
                let error = UserError::new(input.label(), "expected a trace, found a terminal");
                return Err(error.hint("`ferrum-trace - < trace.json`"));
            }
            None => Bytes::of_stream(Box::new(io::stdin()), passes),
            Some(path) => Bytes::of_file(path, passes),
        };
        let cannot = |cause: io::Error| UserError::new(input.label(), format!("cannot open: {cause}"));
        Ok(Self {
            name: input.name(),
            label: input.label(),
            path: input.path().map(Path::to_owned),
            bytes: bytes.map_err(cannot)?,
        })
    }

    /// Opens the trace from its start. A stream that was found for one pass is empty the second time.
    pub(crate) fn open(&self) -> Result<OpenTrace, Error> {
        let (opened, progress) = self.open_bytes(&self.bytes)?;
        let facts =
            TraceFacts { containers: opened.containers.clone(), kind: opened.kind, notes: opened.notes.clone() };
        Ok(OpenTrace { reader: TraceReader { opened, progress }, facts })
    }

    /// Opens the trace and loads its events, with these arguments.
    pub(crate) fn load(&self, args: Vec<String>) -> Result<(Loaded, TraceFacts), UserError> {
        self.load_with(args, load)
    }

    /// Like [`load`](Self::load), with the arguments of async events too.
    pub(crate) fn load_with_async_args(&self, args: Vec<String>) -> Result<(Loaded, TraceFacts), UserError> {
        self.load_with(args, load_async_args)
    }

    fn load_with(
        &self,
        args: Vec<String>,
        load: impl FnOnce(TraceReader, &LoadOptions) -> Result<Loaded, Error>,
    ) -> Result<(Loaded, TraceFacts), UserError> {
        let OpenTrace { reader, facts } = self.open().map_err(|error| self.error(&error))?;
        let loaded =
            load(reader, &LoadOptions { args, ..LoadOptions::default() }).map_err(|error| self.error(&error))?;
        Ok((loaded, facts))
    }

    /// Returns an error about this trace.
    pub(crate) fn error(&self, error: &Error) -> UserError {
        UserError::new(self.label.clone(), error.to_string())
    }

    fn open_bytes(&self, bytes: &Bytes) -> Result<(Opened, Option<Progress>), Error> {
        let mut progress = None;
        let opened = match bytes {
            Bytes::File { file, n_bytes } => {
                let progress = Progress::start(self.label.clone(), Some(*n_bytes).filter(|&n_bytes| n_bytes > 0));
                open::open(WatchedRead { input: FileView::of(file, *n_bytes), progress })
            }
            Bytes::Seekable(file) => {
                progress = Some(Progress::start(self.label.clone(), None));
                open_from_start(file)
            }
            Bytes::Stream(stream) => {
                let stream = stream.lock().unwrap_or_else(PoisonError::into_inner).take();
                open::open(self.watched(stream.unwrap_or_else(|| Box::new(io::empty()))))
            }
            Bytes::Replay(replay) => open::open(self.watched(Box::new(Replayed::new(replay)))),
            Bytes::Named(file) => return self.open_bytes(&file.open_again().unwrap_or_else(Bytes::broken)),
        }?;
        Ok((opened, progress))
    }

    fn watched(&self, input: Box<dyn Read + Send>) -> WatchedRead<Box<dyn Read + Send>> {
        WatchedRead { input, progress: Progress::start(self.label.clone(), None) }
    }
}

impl Bytes {
    fn of_stream(stream: Box<dyn Read + Send>, passes: Passes) -> io::Result<Self> {
        Ok(match passes {
            Passes::One => Self::Stream(Mutex::new(Some(stream))),
            Passes::Several | Passes::SeveralOfMany => Self::Replay(Arc::new(Mutex::new(Replay::new(stream)?))),
        })
    }

    fn of_file(path: &Path, passes: Passes) -> io::Result<Self> {
        let file = File::open(path)?;
        let about = file.metadata()?;
        if about.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if !about.is_file() {
            return Self::of_stream(Box::new(file), passes);
        }
        if passes == Passes::SeveralOfMany {
            return Ok(Self::Named(NamedFile { path: path.to_owned(), id: FileId::of(&about), n_bytes: about.len() }));
        }
        Self::of_open_file(file, about.len())
    }

    fn of_open_file(file: File, n_bytes: u64) -> io::Result<Self> {
        let mut first_bytes = [0; 8];
        let n_first = file.read_at(&mut first_bytes, 0)?;
        if is_spool(&first_bytes[..n_first]) || first_bytes.starts_with(b"PK\x03\x04") {
            return Ok(Self::Seekable(file));
        }
        Ok(Self::File { n_bytes, file: Arc::new(file) })
    }

    fn broken(cause: io::Error) -> Self {
        Self::Stream(Mutex::new(Some(Box::new(Broken(Some(cause))))))
    }
}

/// A file that is opened for each pass. It may grow between passes, but it must be the same file.
struct NamedFile {
    path: PathBuf,
    id: FileId,
    n_bytes: u64,
}

impl NamedFile {
    fn open_again(&self) -> io::Result<Bytes> {
        let file = File::open(&self.path)?;
        let about = file.metadata()?;
        if FileId::of(&about) != self.id {
            return Err(io::Error::other("it was replaced by another file while it was read"));
        }
        if about.len() < self.n_bytes {
            let what = format!("its size changed from {} to {} bytes while it was read", self.n_bytes, about.len());
            return Err(io::Error::other(what));
        }
        Bytes::of_open_file(file, self.n_bytes)
    }
}

/// The clone shares its position with the file, so passes must not overlap.
fn open_from_start(file: &File) -> Result<Opened, Error> {
    let copy = file.try_clone().and_then(|mut copy| copy.rewind().map(|()| copy));
    match copy {
        Ok(copy) => open::open_file(copy),
        Err(cause) => open::open(Broken(Some(cause))),
    }
}

/// A stream that returns an error, then ends.
struct Broken(Option<io::Error>);

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// A file up to the size that it had when it was found.
struct FileView {
    file: Arc<File>,
    offset: u64,
    end: u64,
}

impl FileView {
    fn of(file: &Arc<File>, n_bytes: u64) -> Self {
        // Files in /proc report a size of zero.
        Self { file: Arc::clone(file), offset: 0, end: if n_bytes == 0 { u64::MAX } else { n_bytes } }
    }
}

impl Read for FileView {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_left = usize::try_from(self.end - self.offset).unwrap_or(usize::MAX);
        let n_wanted = buffer.len().min(n_left);
        let n_bytes = self.file.read_at(&mut buffer[..n_wanted], self.offset)?;
        self.offset += n_bytes as u64;
        Ok(n_bytes)
    }
}

/// Recovers a trace that its process did not complete. Returns its spool if the trace cannot be written, or should not
/// be.
fn recover_or_read_spool(unrecovered: Unrecovered, messages: &Messages) -> Input {
    let spool = Input::Spool(unrecovered.spool.clone());
    if unrecovered.trace.exists() {
        messages.note(&unrecovered.trace, "reading its spool instead, which has at least the same events");
        return spool;
    }
    if is_being_recorded(&unrecovered.spool) {
        messages.note(&unrecovered.trace, "its process still records: reading the spool as it is now");
        return spool;
    }
    match unrecovered.recover(&Recovery::default(), messages) {
        Ok(Outcome::Recovered(recovered)) => {
            report_recovered(messages, &recovered);
            Input::Other(unrecovered.trace)
        }
        Ok(Outcome::ClosedPipe) => spool,
        // The folder may not be writable.
        Err(error) => {
            messages.note(&unrecovered.trace, &format!("cannot be recovered ({error}): reading the spool"));
            spool
        }
    }
}

/// Returns true if a live process records to this spool.
pub(crate) fn is_being_recorded(spool: &Path) -> bool {
    matches!(SpoolFile::open(spool, |_| {}), Ok(SpoolFile { owner: Owner::Recorder, .. }))
}
