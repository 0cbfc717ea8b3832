//! What can go wrong when recording.

use ferrum_trace_model::settings::SettingError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Recording could not begin, or its file could not be finished.
#[derive(Debug)]
pub struct Error {
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Io { doing: &'static str, path: PathBuf, cause: io::Error },
    Format { path: PathBuf, cause: ferrum_trace_format::Error },
    AlreadyRecording,
    NotRecording,
    NoPath,
    Setting { name: &'static str, error: SettingError },
}

impl Error {
    pub(crate) fn io(doing: &'static str, path: &Path, cause: io::Error) -> Self {
        let path = path.to_owned();
        Self { kind: Kind::Io { doing, path, cause } }
    }

    pub(crate) fn format(path: &Path, cause: ferrum_trace_format::Error) -> Self {
        let path = path.to_owned();
        Self { kind: Kind::Format { path, cause } }
    }

    pub(crate) fn no_room(path: &Path) -> Self {
        Self::io("cannot record to", path, io::ErrorKind::StorageFull.into())
    }

    pub(crate) fn already_recording() -> Self {
        Self { kind: Kind::AlreadyRecording }
    }

    pub(crate) fn not_recording() -> Self {
        Self { kind: Kind::NotRecording }
    }

    pub(crate) fn no_path() -> Self {
        Self { kind: Kind::NoPath }
    }

    pub(crate) fn setting(name: &'static str, error: SettingError) -> Self {
        Self { kind: Kind::Setting { name, error } }
    }

    /// True if the process records already: there is one recorder a process.
    pub fn is_already_recording(&self) -> bool {
        matches!(self.kind, Kind::AlreadyRecording)
    }

    /// True if there is nothing to finish or to flush.
    pub fn is_not_recording(&self) -> bool {
        matches!(self.kind, Kind::NotRecording)
    }

    /// The same as an [`io::Error`], for the reference's interface.
    pub(crate) fn into_io(self) -> io::Error {
        let kind = match &self.kind {
            Kind::Io { cause, .. } => cause.kind(),
            Kind::Format { cause, .. } => cause.io_error().map_or(io::ErrorKind::InvalidData, io::Error::kind),
            Kind::AlreadyRecording | Kind::NotRecording | Kind::NoPath => io::ErrorKind::Other,
            Kind::Setting { .. } => io::ErrorKind::InvalidInput,
        };
        io::Error::new(kind, self)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Io { doing, path, cause } => write!(f, "{}: {doing}: {cause}", path.display()),
            Kind::Format { path, cause } => write!(f, "{}: {cause}", path.display()),
            Kind::AlreadyRecording => f.write_str("this process is recording already"),
            Kind::NotRecording => f.write_str("this process is not recording"),
            Kind::NoPath => f.write_str("no path to record to was given"),
            Kind::Setting { name, error } => write!(f, "{name}: {error}"),
        }
    }
}

impl std::error::Error for Error {}
