//! What can go wrong with a device.

use std::fmt;

/// Why something could not be measured. The host program is unharmed.
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
    /// The device is gone.
    pub fn lost(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Lost, message: message.into() }
    }

    /// The device cannot do this.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Unsupported, message: message.into() }
    }

    /// It did not work this time.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Failed, message: message.into() }
    }

    /// The device is gone, and with it all that was not collected; see [`Counts::lost`](crate::Counts::lost). Nothing more
    /// will come from this timeline.
    pub fn is_lost(&self) -> bool {
        self.kind == ErrorKind::Lost
    }

    /// The device, or the way it was opened, cannot do this at all.
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
