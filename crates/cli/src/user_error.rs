//! Errors for the user.

use std::fmt;
use std::path::Path;

/// An error message: a subject, what is wrong with it, and an optional hint.
#[derive(Debug)]
pub(crate) struct UserError {
    subject: String,
    what: String,
    hint: Option<String>,
}

impl UserError {
    /// Creates an error about anything, such as standard input.
    pub(crate) fn new(subject: impl Into<String>, what: impl Into<String>) -> Self {
        Self { subject: subject.into(), what: what.into(), hint: None }
    }

    /// Creates an error about a file.
    pub(crate) fn at(path: &Path, what: impl Into<String>) -> Self {
        Self::new(path.display().to_string(), what)
    }

    /// Adds a hint.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the hint, if any.
    pub(crate) fn suggestion(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for UserError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.subject, self.what)
    }
}
