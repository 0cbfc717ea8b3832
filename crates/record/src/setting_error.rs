//! What is wrong with a setting that was given as text.

use std::fmt;

/// A text that is no [`Window`](crate::Window), [`Trigger`](crate::Trigger), [`Categories`](crate::Categories) or what else was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingError {
    expected: &'static str,
    found: String,
}

impl SettingError {
    pub(crate) fn new(expected: &'static str, found: &str) -> Self {
        Self { expected, found: found.to_owned() }
    }
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, found `{}`", self.expected, self.found)
    }
}

impl std::error::Error for SettingError {}
