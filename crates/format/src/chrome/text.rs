//! A JSON string.

use std::borrow::Cow;

/// The content of a JSON string, still escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<'a> {
    /// The bytes between the quotes.
    pub raw: &'a [u8],
    /// True if there are escapes in it.
    pub is_escaped: bool,
}

impl<'a> Text<'a> {
    /// Creates a text without escapes.
    pub fn plain(raw: &'a [u8]) -> Self {
        Self { raw, is_escaped: false }
    }

    /// Returns the decoded text. Invalid UTF-8 and unpaired surrogates become U+FFFD.
    pub fn decode(&self) -> Cow<'a, str> {
        if !self.is_escaped {
            return String::from_utf8_lossy(self.raw);
        }
        let mut bytes = Vec::with_capacity(self.raw.len());
        let mut rest = self.raw;
        while let Some(place) = rest.iter().position(|&byte| byte == b'\\') {
            bytes.extend_from_slice(&rest[..place]);
            let (decoded, n_bytes) = unescape(&rest[place..]);
            bytes.extend_from_slice(decoded.encode_utf8(&mut [0; 4]).as_bytes());
            rest = &rest[place + n_bytes..];
        }
        bytes.extend_from_slice(rest);
        Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Returns the character that an escape stands for, and the length of the escape.
fn unescape(escape: &[u8]) -> (char, usize) {
    let simple = |char| (char, 2);
    match escape.get(1) {
        Some(b'n') => simple('\n'),
        Some(b't') => simple('\t'),
        Some(b'r') => simple('\r'),
        Some(b'b') => simple('\u{8}'),
        Some(b'f') => simple('\u{c}'),
        Some(b'u') => unescape_unicode(escape),
        Some(&other) if other.is_ascii() => simple(char::from(other)),
        _ => (char::REPLACEMENT_CHARACTER, 1),
    }
}

fn unescape_unicode(escape: &[u8]) -> (char, usize) {
    let Some(high) = code_unit(escape) else {
        return (char::REPLACEMENT_CHARACTER, escape.len().min(2));
    };
    let low = escape.get(6..).and_then(code_unit);
    match (high, low) {
        (0xd800..=0xdbff, Some(low @ 0xdc00..=0xdfff)) => {
            let code = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
            (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12)
        }
        _ => (char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER), 6),
    }
}

/// Parses the number in `\u1234`.
fn code_unit(escape: &[u8]) -> Option<u32> {
    let digits = escape.strip_prefix(b"\\u")?.get(..4)?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decoded(raw: &str) -> String {
        Text { raw: raw.as_bytes(), is_escaped: true }.decode().into_owned()
    }

    #[test]
    fn escapes_are_decoded() {
        assert_eq!(decoded(r#"a\n\t\r\b\f\"\\\/z"#), "a\n\t\r\u{8}\u{c}\"\\/z");
        assert_eq!(decoded(r"\u00e9\ud83d\ude00"), "é😀");
        assert_eq!(decoded(r"\ud83d!\ude00"), "\u{fffd}!\u{fffd}");
    }

    #[test]
    fn invalid_utf8_is_replaced() {
        assert_eq!(Text::plain(b"a\xffb").decode(), "a\u{fffd}b");
    }

    proptest! {
        #[test]
        fn agrees_with_serde_json(text: String) {
            let encoded = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(decoded(&encoded[1..encoded.len() - 1]), text);
        }
    }
}
