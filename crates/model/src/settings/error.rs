//! The error for a setting that cannot be parsed.

use std::fmt;

/// A text that is not a valid [`Window`](super::Window), [`Trigger`](super::Trigger), [`Categories`](super::Categories)
/// or other setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingError {
    expected: &'static str,
    found: String,
}

impl SettingError {
    /// Creates an error. `expected` is a phrase such as "a time such as `50ms`", `found` is the text that was given.
    pub fn new(expected: &'static str, found: &str) -> Self {
        Self { expected, found: found.to_owned() }
    }
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, found `{}`", self.expected, self.found)
    }
}

impl std::error::Error for SettingError {}
