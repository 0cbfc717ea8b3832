//! The bytes of a trace: a file, a stream, or a copy of a stream.

use super::replay::{Replay, Replayed};
use crate::os::file_id::FileId;
use crate::render::progress::{Progress, WatchedRead};
use ferrum_trace_format::open::{self, Opened};
use ferrum_trace_format::spool::is_spool;
use ferrum_trace_format::{Error, ReadAt};
use std::fs::File;
use std::io::{self, Read, Seek};
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

/// The bytes of a trace.
pub(crate) enum Bytes {
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

impl Bytes {
    pub(crate) fn of_stream(stream: Box<dyn Read + Send>, passes: Passes) -> io::Result<Self> {
        Ok(match passes {
            Passes::One => Self::Stream(Mutex::new(Some(stream))),
            Passes::Several | Passes::SeveralOfMany => Self::Replay(Arc::new(Mutex::new(Replay::new(stream)?))),
        })
    }

    pub(crate) fn of_file(path: &Path, passes: Passes) -> io::Result<Self> {
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

    /// Opens the trace from its start. Returns the progress of uncompressed bytes if the bytes themselves do not report
    /// it. Messages call the trace `label`.
    pub(crate) fn open(&self, label: &str) -> Result<(Opened, Option<Progress>), Error> {
        let mut progress = None;
        let opened = match self {
            Self::File { file, n_bytes } => {
                let progress = Progress::start(label.to_owned(), Some(*n_bytes).filter(|&n_bytes| n_bytes > 0));
                open::open(WatchedRead { input: FileView::of(file, *n_bytes), progress })
            }
            Self::Seekable(file) => {
                progress = Some(Progress::start(label.to_owned(), None));
                open_from_start(file)
            }
            Self::Stream(stream) => {
                let stream = stream.lock().unwrap_or_else(PoisonError::into_inner).take();
                open::open(watched(label, stream.unwrap_or_else(|| Box::new(io::empty()))))
            }
            Self::Replay(replay) => open::open(watched(label, Box::new(Replayed::new(replay)))),
            Self::Named(file) => return file.open_again().unwrap_or_else(Self::broken).open(label),
        }?;
        Ok((opened, progress))
    }

    fn broken(cause: io::Error) -> Self {
        Self::Stream(Mutex::new(Some(Box::new(Broken(Some(cause))))))
    }
}

/// A file that is opened for each pass. It may grow between passes, but it must be the same file.
pub(crate) struct NamedFile {
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

fn watched(label: &str, input: Box<dyn Read + Send>) -> WatchedRead<Box<dyn Read + Send>> {
    WatchedRead { input, progress: Progress::start(label.to_owned(), None) }
}
