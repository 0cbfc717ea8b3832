//! Something in a spool that is not as it should be, and was passed over.

use std::fmt;

/// What was found where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Byte offset in the spool.
    pub offset: u64,
    /// What is wrong there, and what was done about it.
    pub message: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.offset, self.message)
    }
}

/// How many diagnostics are kept of one spool; further ones are only counted.
pub const DIAGNOSTICS_MAX: usize = 1000;
