//! Writes texts without NUL bytes.

use crate::perfetto::wire::Push;
use std::borrow::Cow;

/// Replaces NUL by `␀` (U+2400), as in JSON, since viewers cut a text there.
pub(crate) fn without_nul(text: &str) -> Cow<'_, str> {
    if text.as_bytes().contains(&0) { text.replace('\0', "␀").into() } else { text.into() }
}

/// Appends texts to a buffer.
pub(crate) trait PushText {
    /// Appends a field with a text.
    fn push_text(&mut self, field: u32, text: &str);
}

impl PushText for Vec<u8> {
    fn push_text(&mut self, field: u32, text: &str) {
        self.push_bytes(field, without_nul(text).as_bytes());
    }
}
