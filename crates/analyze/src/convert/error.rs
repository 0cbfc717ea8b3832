//! Errors of conversions.

use std::fmt;
use std::io;

/// Error of a conversion.
#[derive(Debug)]
pub enum Error {
    /// The input could not be read, or is not a trace.
    Read(ferrum_trace_format::Error),
    /// The output could not be written.
    Write(io::Error),
    /// The trace has none of the expected items.
    Nothing(&'static str),
    /// A temporary file could not be written or read.
    Spill(io::Error),
}

impl From<ferrum_trace_format::Error> for Error {
    fn from(error: ferrum_trace_format::Error) -> Self {
        Self::Read(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(cause) => write!(f, "{cause}"),
            Self::Nothing(expected) => write!(f, "expected {expected}, found none"),
            Self::Write(cause) => write!(f, "cannot write: {cause}"),
            Self::Spill(cause) => write!(f, "cannot use a temporary file: {cause}"),
        }
    }
}

impl std::error::Error for Error {}
