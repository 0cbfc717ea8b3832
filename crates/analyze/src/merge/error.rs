//! Errors of a merge.

use std::fmt;
use std::io;

/// Error of a merge.
#[derive(Debug)]
pub enum Error {
    /// An input cannot be read, or is not a trace.
    Input {
        /// Its index among the inputs.
        place: usize,
        /// Its name.
        name: String,
        /// The error.
        cause: ferrum_trace_format::Error,
    },
    /// The output cannot be written.
    Write(io::Error),
    /// A temporary file cannot be written or read.
    Spill(io::Error),
    /// Another error while the output was written.
    Output(ferrum_trace_format::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input { name, cause, .. } => write!(f, "{name}: {cause}"),
            Self::Write(cause) => write!(f, "cannot write: {cause}"),
            Self::Spill(cause) => write!(f, "cannot use a temporary file: {cause}"),
            Self::Output(cause) => write!(f, "{cause}"),
        }
    }
}

impl std::error::Error for Error {}
