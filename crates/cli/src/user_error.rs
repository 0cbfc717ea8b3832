//! Why something could not be done, in words for the user.

use std::fmt;
use std::path::Path;

/// What it is about, what is wrong, and perhaps a way out.
#[derive(Debug)]
pub struct UserError {
    subject: String,
    what: String,
    hint: Option<String>,
}

impl UserError {
    /// About something that has no path, such as standard input.
    pub fn new(subject: impl Into<String>, what: impl Into<String>) -> Self {
        Self { subject: subject.into(), what: what.into(), hint: None }
    }

    /// About a file.
    pub fn at(path: &Path, what: impl Into<String>) -> Self {
        Self::new(path.display().to_string(), what)
    }

    /// Adds a way out.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The way out, if one is known.
    pub fn suggestion(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for UserError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.subject, self.what)
    }
}
