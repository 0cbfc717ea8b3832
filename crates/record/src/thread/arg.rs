//! Arguments on their way into a record.

use ferrum_trace_format::spool::record::Type;

/// One argument: what fits into a word, and what it is.
#[derive(Clone, Copy, Debug)]
pub struct Arg {
    pub(crate) word: u64,
    pub(crate) kind: Type,
}

impl Arg {
    pub(crate) const LOST: Self = Self { word: 0, kind: Type::Lost };

    /// A text that was written before.
    pub(crate) const fn text_at(place: u64) -> Self {
        Self::new(place, Type::TextAt)
    }

    /// The type's number, and the word.
    #[inline(always)]
    pub(crate) fn type_and_word(&self) -> (u64, u64) {
        (self.kind as u64, self.word)
    }

    /// A number or truth value, as text.
    #[cfg(feature = "tracing")]
    pub(crate) fn number_text(&self) -> Option<String> {
        match self.kind {
            Type::Signed => Some((self.word as i64).to_string()),
            Type::Unsigned => Some(self.word.to_string()),
            Type::Float => Some(f64::from_bits(self.word).to_string()),
            Type::Bool => Some((self.word != 0).to_string()),
            Type::Lost | Type::ShortText | Type::TextAt => None,
        }
    }

    pub(crate) const fn new(word: u64, kind: Type) -> Self {
        Self { word, kind }
    }
}
