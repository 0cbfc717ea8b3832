//! Texts as viewers show them.

use crate::perfetto::wire::Push;
use std::borrow::Cow;

/// Viewers cut a text at a NUL; `␀` (U+2400) stands for it, as in JSON.
pub fn without_nul(text: &str) -> Cow<'_, str> {
    if text.as_bytes().contains(&0) { text.replace('\0', "␀").into() } else { text.into() }
}

/// Writes texts behind what is there.
pub trait PushText {
    /// A field that holds a text.
    fn push_text(&mut self, field: u32, text: &str);
}

impl PushText for Vec<u8> {
    fn push_text(&mut self, field: u32, text: &str) {
        self.push_bytes(field, without_nul(text).as_bytes());
    }
}
