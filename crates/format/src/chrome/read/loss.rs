//! What could not be read.

use std::fmt;

/// A place of a file that was passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Where it begins, in bytes from the start of the (decompressed) file.
    pub offset: u64,
    /// How many bytes were passed over.
    pub n_bytes: u64,
    /// Why.
    pub reason: String,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {} ({} bytes passed over)", self.offset, self.reason, self.n_bytes)
    }
}
