//! Arguments of an event, before they are written to a record.

use ferrum_trace_format::spool::record::Type;
#[cfg(feature = "tracing")]
use ferrum_trace_format::spool::record::short_text_bytes;

/// One argument: a word and its type.
#[derive(Clone, Copy, Debug)]
pub struct Arg {
    pub(crate) word: u64,
    pub(crate) kind: Type,
}

impl Arg {
    pub(crate) const LOST: Self = Self { word: 0, kind: Type::Lost };

    /// Returns an argument that refers to a text that has been written before.
    pub(crate) const fn text_at(place: u64) -> Self {
        Self::new(place, Type::TextAt)
    }

    /// Returns the number of the type, and the word.
    #[inline(always)]
    pub(crate) fn type_and_word(&self) -> (u64, u64) {
        (self.kind as u64, self.word)
    }

    /// Returns the value as text, `None` if it is not in the word.
    #[cfg(feature = "tracing")]
    pub(crate) fn word_text(&self) -> Option<String> {
        match self.kind {
            Type::Signed => Some((self.word as i64).to_string()),
            Type::Unsigned => Some(self.word.to_string()),
            Type::Float => Some(f64::from_bits(self.word).to_string()),
            Type::Bool => Some((self.word != 0).to_string()),
            Type::ShortText => {
                let bytes = self.word.to_le_bytes();
                Some(String::from_utf8_lossy(short_text_bytes(&bytes)).into_owned())
            }
            Type::Lost | Type::TextAt => None,
        }
    }

    pub(crate) const fn new(word: u64, kind: Type) -> Self {
        Self { word, kind }
    }
}
