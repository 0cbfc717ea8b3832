//! The error of reading or writing a trace.

use std::fmt;
use std::io;

/// A trace could not be read or written.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
}

#[derive(Debug)]
enum ErrorKind {
    /// The bytes do not match the format.
    Malformed {
        offset: u64,
        expected: String,
        found: String,
    },
    Io {
        doing: &'static str,
        cause: io::Error,
    },
}

impl Error {
    pub(crate) fn malformed(offset: u64, expected: impl Into<String>, found: impl Into<String>) -> Self {
        let (expected, found) = (expected.into(), found.into());
        Self { kind: ErrorKind::Malformed { offset, expected, found } }
    }

    pub(crate) fn io(doing: &'static str, cause: io::Error) -> Self {
        Self { kind: ErrorKind::Io { doing, cause } }
    }

    /// Creates the error for output that cannot be written.
    pub fn writing(cause: io::Error) -> Self {
        Self::io("cannot write", cause)
    }

    /// Returns true if the input is not in the expected format.
    pub fn is_wrong_format(&self) -> bool {
        matches!(self.kind, ErrorKind::Malformed { .. })
    }

    /// Returns the system's error, if reading or writing itself failed.
    pub fn io_error(&self) -> Option<&io::Error> {
        match &self.kind {
            ErrorKind::Io { cause, .. } => Some(cause),
            ErrorKind::Malformed { .. } => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ErrorKind::Malformed { offset, expected, found } => {
                write!(f, "byte {offset}: expected {expected}, found {found}")
            }
            ErrorKind::Io { doing, cause } => write!(f, "{doing}: {cause}"),
        }
    }
}

impl std::error::Error for Error {}
