//! Values of arguments.

use crate::{StringId, Strings};
use std::borrow::Cow;

/// The value of an argument. Equal values of one trace are equal as `ArgValue`.
///
/// Profilers number calls and kernels in their arguments, so most values of such an argument occur once or twice.
/// Keeping whole numbers out of the table of texts saves most of the time and memory for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ArgValue {
    /// A whole number below 2^32 in its usual decimal form.
    Integer(u32),
    /// Any other value: the content of a text, the JSON of anything else.
    Text(StringId),
}

impl ArgValue {
    /// Returns the value with this content, and adds its text to `strings` if it needs one.
    #[inline]
    pub fn intern(content: &str, strings: &mut Strings) -> Self {
        Self::integer(content.as_bytes()).unwrap_or_else(|| Self::Text(strings.intern(content)))
    }

    /// Returns the value with this content if it is [`Integer`](Self::Integer).
    #[inline]
    pub fn integer(content: &[u8]) -> Option<Self> {
        integer(content).map(Self::Integer)
    }

    /// Returns its content.
    pub fn content(self, strings: &Strings) -> Cow<'_, str> {
        match self {
            Self::Integer(number) => Cow::Owned(number.to_string()),
            Self::Text(text) => Cow::Borrowed(strings.get(text)),
        }
    }

    /// Returns its content as a number, if it is a whole number that is not negative.
    pub fn number(self, strings: &Strings) -> Option<u64> {
        match self {
            Self::Integer(number) => Some(u64::from(number)),
            Self::Text(text) => strings.get(text).parse().ok(),
        }
    }
}

/// Parses a whole number below 2^32 without sign and leading zeros.
#[inline]
fn integer(content: &[u8]) -> Option<u32> {
    if content.is_empty() || content.len() > 10 || (content[0] == b'0' && content.len() > 1) {
        return None;
    }
    let add = |number: u64, &digit: &u8| digit.is_ascii_digit().then(|| number * 10 + u64::from(digit - b'0'));
    content.iter().try_fold(0, add).and_then(|number| u32::try_from(number).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_of_a_value_is_kept() {
        let mut strings = Strings::default();
        for content in
            ["0", "7", "4294967295", "4294967296", "99999999999", "00", "07", "-1", "+1", "1.0", "", " 1", "1 ", "x"]
        {
            let value = ArgValue::intern(content, &mut strings);
            assert_eq!(value.content(&strings), content);
            assert_eq!(value, ArgValue::intern(content, &mut strings));
            assert_eq!(value.number(&strings), content.parse().ok(), "{content}");
        }
    }

    #[test]
    fn usual_whole_numbers_take_no_text() {
        let mut strings = Strings::default();
        assert_eq!(ArgValue::intern("4294967295", &mut strings), ArgValue::Integer(u32::MAX));
        assert_eq!(strings.len(), 1);
        for content in ["4294967296", "010", "-0"] {
            assert!(matches!(ArgValue::intern(content, &mut strings), ArgValue::Text(_)), "{content}");
        }
    }
}
