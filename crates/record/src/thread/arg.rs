//! Arguments of an event, before they are written to a record.

use ferrum_trace_format::spool::record::Type;

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

    /// Returns the text of a number or boolean, `None` for other types.
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
