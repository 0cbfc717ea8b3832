//! A trace that is to be read.

use super::paths::{Input, Unrecovered};
use super::recovery::{Outcome, Recovery};
use super::replay::{Replay, Replayed};
use super::spool_file::{Owner, SpoolFile};
use crate::os::file_id::FileId;
use crate::render::messages::Messages;
use crate::render::progress::{Progress, WatchedRead};
use crate::user_error::UserError;
use ferrum_trace_format::open::{self, Container, Notes, Opened, TraceFormat};
use ferrum_trace_format::spool::is_spool;
use ferrum_trace_format::{Error, ReadAt};
use std::fs::File;
use std::io::{self, IsTerminal, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// How often a trace will be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passes {
    One,
    Several,
    /// One of many traces: they are read one after the other, and a system does not let all be open at once.
    SeveralOfMany,
}

/// A trace that is to be read.
pub struct Source {
    /// What it is called in JSON.
    pub name: String,
    /// What it is called in words.
    pub label: String,
    /// Where it is; `None` for standard input.
    pub path: Option<PathBuf>,
    bytes: Bytes,
    facts: Mutex<Option<TraceFacts>>,
}

/// What becomes known of a trace when it is opened.
#[derive(Clone, Debug)]
pub struct TraceFacts {
    /// What is around it, from the outside inwards.
    pub containers: Vec<Container>,
    pub kind: TraceFormat,
    notes: Notes,
}

impl TraceFacts {
    /// What is worth saying, and is known once the trace has been read.
    pub fn notes(&self) -> Vec<String> {
        self.notes.all()
    }
}

/// A trace that is being read, as Chrome trace events.
pub struct TraceReader {
    opened: Opened,
    /// Of what is not watched where it is read from.
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

enum Bytes {
    /// A file of which that many bytes are read: it may be growing.
    File {
        file: Arc<File>,
        n_bytes: u64,
    },
    /// A file that is read here and there: a spool, or a zip.
    Seekable(File),
    /// A file that is open only while it is read.
    Named(NamedFile),
    /// Taken by whoever opens it first.
    Stream(Mutex<Option<Box<dyn Read + Send>>>),
    Replay(Arc<Mutex<Replay>>),
}

impl Source {
    /// Finds a trace. One that is missing, but whose spool is there, is recovered first.
    pub fn of(input: Input, passes: Passes, messages: &Messages) -> Result<Self, UserError> {
        let input = match input {
            Input::Unrecovered(unrecovered) => settle(unrecovered, messages),
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
            facts: Mutex::default(),
        })
    }

    /// Opens it. What was given for one pass can be opened once.
    pub fn open(&self) -> Result<TraceReader, Error> {
        let (opened, progress) = self.open_bytes(&self.bytes)?;
        let facts =
            TraceFacts { containers: opened.containers.clone(), kind: opened.kind, notes: opened.notes.clone() };
        *self.facts.lock().unwrap_or_else(PoisonError::into_inner) = Some(facts);
        Ok(TraceReader { opened, progress })
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

    /// The same, for those who only want to read.
    pub fn open_boxed(&self) -> Result<Box<dyn Read + Send>, Error> {
        Ok(Box::new(self.open()?))
    }

    /// What is known since it was opened last.
    pub fn facts(&self) -> TraceFacts {
        let facts = self.facts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        facts.unwrap_or(TraceFacts { containers: Vec::new(), kind: TraceFormat::Json, notes: Notes::default() })
    }

    /// What an error is about.
    pub fn error(&self, error: &Error) -> UserError {
        UserError::new(self.label.clone(), error.to_string())
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

/// A file as it was when it was found. It may grow; of what is not read here and there, only what was there then is read.
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

/// The copy shares its place with the file, which nobody else reads meanwhile.
fn open_from_start(file: &File) -> Result<Opened, Error> {
    let copy = file.try_clone().and_then(|mut copy| copy.rewind().map(|()| copy));
    match copy {
        Ok(copy) => open::open_file(copy),
        Err(cause) => open::open(Broken(Some(cause))),
    }
}

/// A stream of which nothing but an error comes.
struct Broken(Option<io::Error>);

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// A file from its beginning to where it ended when it was found.
struct FileView {
    file: Arc<File>,
    offset: u64,
    end: u64,
}

impl FileView {
    fn of(file: &Arc<File>, n_bytes: u64) -> Self {
        // Files of the system that are made when they are read say that they are empty.
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

/// What is to be read for a trace that its process did not complete: the trace, if that is made now, or the spool.
fn settle(unrecovered: Unrecovered, messages: &Messages) -> Input {
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
            messages.recovered(&recovered);
            Input::Other(unrecovered.trace)
        }
        Ok(Outcome::ClosedPipe) => spool,
        // Its folder may be one that cannot be written to.
        Err(error) => {
            messages.note(&unrecovered.trace, &format!("cannot be recovered ({error}): reading the spool"));
            spool
        }
    }
}

/// Whether a live process records to it.
pub fn is_being_recorded(spool: &Path) -> bool {
    matches!(SpoolFile::open(spool, |_| {}), Ok(SpoolFile { owner: Owner::Recorder, .. }))
}
