//! One part of a file that could not be read.

use std::fmt;

/// A part of a file that was skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Offset in the (decompressed) file.
    pub offset: u64,
    /// Number of skipped bytes.
    pub n_bytes: u64,
    /// The reason.
    pub reason: String,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {} ({} bytes skipped)", self.offset, self.reason, self.n_bytes)
    }
}
