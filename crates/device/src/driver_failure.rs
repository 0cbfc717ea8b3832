//! Errors of a device's driver.

use crate::error::Error;

/// An error reported by a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverFailure {
    pub message: String,
    /// True if all later operations will fail too.
    pub is_lost: bool,
}

impl From<DriverFailure> for Error {
    fn from(failure: DriverFailure) -> Self {
        if failure.is_lost { Self::lost(failure.message) } else { Self::failed(failure.message) }
    }
}
