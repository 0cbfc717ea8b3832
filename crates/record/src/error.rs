//! Errors of the recorder.

use ferrum_trace_model::settings::SettingError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// An error that occurs if recording could not start, or if its file could not be finished.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
}

#[derive(Debug)]
enum ErrorKind {
    Io { doing: &'static str, path: PathBuf, cause: io::Error },
    Format { path: PathBuf, cause: ferrum_trace_format::Error },
    AlreadyRecording,
    NotRecording,
    NoPath,
    Setting { name: &'static str, error: SettingError },
    UnwrittenParts { folder: PathBuf, n: usize, why: String },
}

impl Error {
    pub(crate) fn io(doing: &'static str, path: &Path, cause: io::Error) -> Self {
        let path = path.to_owned();
        Self { kind: ErrorKind::Io { doing, path, cause } }
    }

    pub(crate) fn format(path: &Path, cause: ferrum_trace_format::Error) -> Self {
        let path = path.to_owned();
        Self { kind: ErrorKind::Format { path, cause } }
    }

    pub(crate) fn no_room(path: &Path) -> Self {
        Self::io("cannot record to", path, io::ErrorKind::StorageFull.into())
    }

    pub(crate) fn already_recording() -> Self {
        Self { kind: ErrorKind::AlreadyRecording }
    }

    pub(crate) fn not_recording() -> Self {
        Self { kind: ErrorKind::NotRecording }
    }

    pub(crate) fn no_path() -> Self {
        Self { kind: ErrorKind::NoPath }
    }

    pub(crate) fn setting(name: &'static str, error: SettingError) -> Self {
        Self { kind: ErrorKind::Setting { name, error } }
    }

    /// Parts of a rotating recording whose output could not be written. `why` is the error of the last one.
    pub(crate) fn unwritten_parts(base: &Path, n: usize, why: String) -> Self {
        let folder = base.parent().unwrap_or(base).to_owned();
        Self { kind: ErrorKind::UnwrittenParts { folder, n, why } }
    }

    /// Returns true if the process already records: a process has one recording at a time.
    pub fn is_already_recording(&self) -> bool {
        matches!(self.kind, ErrorKind::AlreadyRecording)
    }

    /// Returns true if the process does not record, so there is nothing to finish or to flush.
    pub fn is_not_recording(&self) -> bool {
        matches!(self.kind, ErrorKind::NotRecording)
    }

    /// Returns true if another attempt may succeed, as after an error of the disk.
    pub(crate) fn may_pass(&self) -> bool {
        match &self.kind {
            ErrorKind::Io { .. } => true,
            ErrorKind::Format { cause, .. } => cause.io_error().is_some(),
            _ => false,
        }
    }

    /// Converts this to an [`io::Error`], for the original engine's interface.
    pub(crate) fn into_io(self) -> io::Error {
        let kind = match &self.kind {
            ErrorKind::Io { cause, .. } => cause.kind(),
            ErrorKind::Format { cause, .. } => cause.io_error().map_or(io::ErrorKind::InvalidData, io::Error::kind),
            ErrorKind::AlreadyRecording | ErrorKind::NotRecording | ErrorKind::NoPath => io::ErrorKind::Other,
            ErrorKind::Setting { .. } => io::ErrorKind::InvalidInput,
            ErrorKind::UnwrittenParts { .. } => io::ErrorKind::Other,
        };
        io::Error::new(kind, self)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ErrorKind::Io { doing, path, cause } => write!(f, "{}: {doing}: {cause}", path.display()),
            ErrorKind::Format { path, cause } => write!(f, "{}: {cause}", path.display()),
            ErrorKind::AlreadyRecording => f.write_str("this process is recording already"),
            ErrorKind::NotRecording => f.write_str("this process is not recording"),
            ErrorKind::NoPath => f.write_str("no path to record to was given"),
            ErrorKind::Setting { name, error } => write!(f, "{name}: {error}"),
            ErrorKind::UnwrittenParts { folder, n, why } => {
                let files = if *n == 1 { "1 earlier file".to_owned() } else { format!("{n} earlier files") };
                let folder = folder.display();
                write!(f, "{files} could not be written ({why}), but kept: ferrum-trace recover {folder}")
            }
        }
    }
}

impl std::error::Error for Error {}
