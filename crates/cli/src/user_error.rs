//! Errors for the user.

use ferrum_trace_analyze::visible;
use std::fmt;
use std::path::Path;

/// An error message: a subject, what is wrong with it, and an optional hint. Hidden characters of file names and other
/// texts are replaced.
#[derive(Debug)]
pub(crate) struct UserError {
    subject: String,
    what: String,
    hint: Option<String>,
}

impl UserError {
    /// Creates an error about anything, such as standard input.
    pub(crate) fn new(subject: impl Into<String>, what: impl Into<String>) -> Self {
        Self { subject: visible(&subject.into()), what: visible_list(&what.into()), hint: None }
    }

    /// Creates an error about a file.
    pub(crate) fn at(path: &Path, what: impl Into<String>) -> Self {
        Self::new(path.display().to_string(), what)
    }

    /// Adds a hint.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(visible(&hint.into()));
        self
    }

    /// Returns the hint, if any.
    pub(crate) fn suggestion(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

/// Begin of an item of a list in a message.
const ITEM: &str = "\n  ";

/// Replaces hidden characters, except for the line breaks before items, which are indented.
fn visible_list(text: &str) -> String {
    text.split(ITEM).map(visible).collect::<Vec<_>>().join(ITEM)
}

impl fmt::Display for UserError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.subject, self.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_text_has_no_line_of_its_own() {
        let error = UserError::new("a\nb", "differs:\n  one\u{202e}\n  two\nerror: three").hint("c\nd");
        assert_eq!(error.to_string(), "a\u{fffd}b: differs:\n  one\u{fffd}\n  two\u{fffd}error: three");
        assert_eq!(error.suggestion(), Some("c\u{fffd}d"));
    }
}
