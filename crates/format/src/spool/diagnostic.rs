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
const DIAGNOSTICS_MAX: usize = 1000;

/// All that is wrong with a spool: the first places in detail, the others counted.
#[derive(Clone, Debug, Default)]
pub struct Damage {
    pub kept: Vec<Diagnostic>,
    pub n_all: u64,
}

impl Damage {
    pub fn add(&mut self, offset: u64, message: impl Into<String>) {
        self.n_all += 1;
        if self.kept.len() < DIAGNOSTICS_MAX {
            let message = message.into();
            self.kept.push(Diagnostic { offset, message });
        }
    }

    pub fn merge(&mut self, other: Self) {
        let room = DIAGNOSTICS_MAX.saturating_sub(self.kept.len());
        self.kept.extend(other.kept.into_iter().take(room));
        self.n_all += other.n_all;
    }
}
