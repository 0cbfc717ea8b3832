//! The error type.

use std::fmt;

/// A measurement that failed. The host program is not affected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ErrorKind {
    Lost,
    Unsupported,
    Failed,
}

impl Error {
    /// An error of a device that is gone.
    pub fn lost(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Lost, message: message.into() }
    }

    /// An error of a device without a required feature.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Unsupported, message: message.into() }
    }

    /// An error of a single operation.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Failed, message: message.into() }
    }

    /// Returns true if the device is gone, with all results that were not collected; see
    /// [`Counts::lost`](crate::Counts::lost). This timeline will record nothing more.
    pub fn is_lost(&self) -> bool {
        self.kind == ErrorKind::Lost
    }

    /// Returns true if the device, or the way it was opened, does not support the operation.
    pub fn is_unsupported(&self) -> bool {
        self.kind == ErrorKind::Unsupported
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ErrorKind::Lost => write!(f, "the device is lost: {}", self.message),
            ErrorKind::Unsupported | ErrorKind::Failed => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for Error {}
