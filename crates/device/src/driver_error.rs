//! A device's answer that is no success.

use crate::error::Error;

/// What a device said instead of what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    pub message: String,
    /// Whether it will say nothing else any more.
    pub is_lost: bool,
}

impl From<Trouble> for Error {
    fn from(trouble: Trouble) -> Self {
        if trouble.is_lost { Self::lost(trouble.message) } else { Self::failed(trouble.message) }
    }
}
