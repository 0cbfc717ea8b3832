//! Finds the end of common JSON values, several times as fast as [`Cursor`](super::Cursor) does.
//!
//! These functions accept a part of what the cursor accepts, and never more. They return `None` for invalid and
//! incomplete values, and for valid ones that need more care: an exponent or leading zeros in a number, many digits,
//! deep nesting. The cursor then reads the value again from its start, so that its results and errors do not depend on
//! this module.

/// Maximum number of bytes of a number without exponent. Such a number is within the range of a float.
const NUMBER_BYTES_MAX: usize = 100;

/// Returns the offset after the value at `at`, which may follow spaces.
#[inline]
pub(super) fn end_of_value(bytes: &[u8], at: usize) -> Option<usize> {
    let at = after_space(bytes, at);
    match bytes.get(at)? {
        b'"' => end_of_text(bytes, at),
        b'-' | b'0'..=b'9' => end_of_number(bytes, at),
        _ => end_of_any(bytes, at),
    }
}

/// Calls `look` with the key and the JSON of each member of the object at `at`, and returns the offset after it. If the
/// result is `None`, `look` may have been called for the first members.
#[inline(always)]
pub(super) fn for_each_member<'a>(
    bytes: &'a [u8],
    at: usize,
    mut look: impl FnMut(&'a [u8], &'a [u8]),
) -> Option<usize> {
    if *bytes.get(at)? != b'{' {
        return None;
    }
    let mut at = after_space(bytes, at + 1);
    loop {
        let key = at + 1;
        at = end_of_plain_text(bytes, at)?;
        let key = &bytes[key..at - 1];
        at = after_space(bytes, at);
        if *bytes.get(at)? != b':' {
            return None;
        }
        let value = after_space(bytes, at + 1);
        at = end_of_value(bytes, value)?;
        look(key, &bytes[value..at]);
        at = after_space(bytes, at);
        match bytes.get(at)? {
            b',' => at = after_space(bytes, at + 1),
            b'}' => return Some(at + 1),
            _ => return None,
        }
    }
}

/// Returns the offset after the text at `at`, if it has no escapes.
#[inline(always)]
pub(super) fn end_of_plain_text(bytes: &[u8], at: usize) -> Option<usize> {
    if *bytes.get(at)? != b'"' {
        return None;
    }
    let at = quote_or_backslash(bytes, at + 1)?;
    (bytes[at] == b'"').then_some(at + 1)
}

/// Containers that are open, one bit each. The lowest bit is the innermost container and is set for an object. A set
/// bit above the outermost container marks the end.
#[derive(Clone, Copy, PartialEq, Eq)]
struct OpenContainers(u64);

impl OpenContainers {
    const NONE: Self = Self(1);

    #[inline(always)]
    fn with(self, is_object: bool) -> Option<Self> {
        (self.0 >> 63 == 0).then_some(Self(self.0 << 1 | u64::from(is_object)))
    }

    #[inline(always)]
    fn is_object(self) -> bool {
        self.0 & 1 == 1
    }

    #[inline(always)]
    fn without_innermost(self) -> Self {
        Self(self.0 >> 1)
    }
}

/// Returns the offset after a value of any kind.
fn end_of_any(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut open = OpenContainers::NONE;
    loop {
        at = after_space(bytes, at);
        match bytes.get(at)? {
            b'"' => at = end_of_text(bytes, at)?,
            b'-' | b'0'..=b'9' => at = end_of_number(bytes, at)?,
            b'[' => {
                at = after_space(bytes, at + 1);
                if *bytes.get(at)? != b']' {
                    open = open.with(false)?;
                    continue;
                }
                at += 1;
            }
            b'{' => {
                at = after_space(bytes, at + 1);
                if *bytes.get(at)? != b'}' {
                    open = open.with(true)?;
                    at = end_of_key(bytes, at)?;
                    continue;
                }
                at += 1;
            }
            b't' => at = end_of_word(bytes, at, b"true")?,
            b'f' => at = end_of_word(bytes, at, b"false")?,
            b'n' => at = end_of_word(bytes, at, b"null")?,
            _ => return None,
        }
        // After a value.
        loop {
            if open == OpenContainers::NONE {
                return Some(at);
            }
            at = after_space(bytes, at);
            match (*bytes.get(at)?, open.is_object()) {
                (b',', false) => {
                    at += 1;
                    break;
                }
                (b',', true) => {
                    at = end_of_key(bytes, after_space(bytes, at + 1))?;
                    break;
                }
                (b']', false) | (b'}', true) => {
                    at += 1;
                    open = open.without_innermost();
                }
                _ => return None,
            }
        }
    }
}

#[inline(always)]
fn after_space(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(at) {
        at += 1;
    }
    at
}

/// Returns the offset after a key and its colon.
#[inline(always)]
fn end_of_key(bytes: &[u8], at: usize) -> Option<usize> {
    if *bytes.get(at)? != b'"' {
        return None;
    }
    let at = after_space(bytes, end_of_text(bytes, at)?);
    (*bytes.get(at)? == b':').then_some(at + 1)
}

/// Returns the offset after a text, which begins with the quote at `at`.
#[inline(always)]
fn end_of_text(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        at = quote_or_backslash(bytes, at)?;
        if bytes[at] == b'"' {
            return Some(at + 1);
        }
        at += match bytes.get(at + 1)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 2,
            _ => return None,
        };
    }
}

/// Returns the offset of the next quote or backslash. It tests eight bytes at a time.
#[inline(always)]
pub(super) fn quote_or_backslash(bytes: &[u8], mut at: usize) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);
    const QUOTES: u64 = u64::from_ne_bytes([b'"'; 8]);
    const BACKSLASHES: u64 = u64::from_ne_bytes([b'\\'; 8]);
    while let Some(eight) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*eight);
        let (quote, backslash) = (word ^ QUOTES, word ^ BACKSLASHES);
        // The high bit of each zero byte is set. Bytes above the first zero byte may have it set by mistake.
        let zeros = ((quote.wrapping_sub(ONES) & !quote) | (backslash.wrapping_sub(ONES) & !backslash)) & HIGHS;
        if zeros != 0 {
            return Some(at + (zeros.trailing_zeros() / 8) as usize);
        }
        at += 8;
    }
    let rest = bytes.get(at..)?;
    rest.iter().position(|byte| matches!(byte, b'"' | b'\\')).map(|place| at + place)
}

/// Returns the offset after a number, which begins at `at`.
#[inline(always)]
fn end_of_number(bytes: &[u8], start: usize) -> Option<usize> {
    let whole = start + usize::from(bytes[start] == b'-');
    let mut at = after_digits(bytes, whole);
    if at == whole || (bytes[whole] == b'0' && at - whole > 1) {
        return None;
    }
    // The number may be incomplete at the end of the bytes.
    let mut next = *bytes.get(at)?;
    if next == b'.' {
        let fraction = at + 1;
        at = after_digits(bytes, fraction);
        next = *bytes.get(at)?;
        if at == fraction {
            return None;
        }
    }
    (!matches!(next, b'e' | b'E') && at - start <= NUMBER_BYTES_MAX).then_some(at)
}

#[inline(always)]
fn after_digits(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b'0'..=b'9') = bytes.get(at) {
        at += 1;
    }
    at
}

#[inline(always)]
fn end_of_word(bytes: &[u8], at: usize, word: &[u8]) -> Option<usize> {
    bytes.get(at..)?.starts_with(word).then_some(at + word.len())
}

#[cfg(test)]
mod tests {
    use super::super::cursor::Cursor;
    use super::*;
    use proptest::prelude::*;

    /// Returns the end that the cursor finds with its own means, if it has nothing to report about the value.
    fn end_by_cursor(text: &str) -> Option<usize> {
        let mut cursor = Cursor::new(text.as_bytes(), 0);
        cursor.skip_value_carefully().ok()?;
        (!cursor.take_invalid_number()).then_some(cursor.at())
    }

    #[test]
    fn common_values_are_skipped() {
        let values = [
            "\"\"",
            r#""a\"b\\ and more than eight bytes""#,
            "0",
            "-12.50",
            "true",
            "false",
            "null",
            "[]",
            "{ }",
            r#"[[16, 559], [] , {}, "x", -1 ]"#,
            "{\n  \"a\": {\"b\" : [1,2]},\r\t\"c\":\"}\" }",
        ];
        for value in values {
            let text = format!(" {value} ");
            assert_eq!(end_of_value(text.as_bytes(), 0), Some(value.len() + 1), "{value}");
            for end in 1..value.len() {
                assert_eq!(end_of_value(&text.as_bytes()[..=end], 0), None, "{value} up to {end}");
            }
        }
    }

    #[test]
    fn values_that_need_care_are_left_to_the_cursor() {
        let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
        let long = "1".repeat(NUMBER_BYTES_MAX + 1);
        for value in ["1e5", "-0.5E-7", "007", "\"\\u00e9\"", "[1e5]", &deep, &long] {
            let text = format!("{value} ");
            assert_eq!(end_of_value(text.as_bytes(), 0), None, "{value}");
            assert!(Cursor::new(text.as_bytes(), 0).skip_value().is_ok(), "{value}");
        }
    }

    #[test]
    fn members_of_common_objects_are_found() {
        let members = |text: &'static str| {
            let mut found = Vec::new();
            let text_of = |bytes: &'static [u8]| std::str::from_utf8(bytes).unwrap();
            let end = for_each_member(text.as_bytes(), 0, |key, value| found.push((text_of(key), text_of(value))));
            end.map(|end| (end, found))
        };
        let expected = vec![("a", "1"), ("b c", "[{\"d\" : 2}]"), ("", "\"\"")];
        assert_eq!(members(r#"{"a": 1,"b c" :[{"d" : 2}] , "":""} ,"#), Some((35, expected)));
        for left in ["{}", "[1] ", "{\"a\\\"\":1} ", "{\"a\":1e5} ", "{\"a\":1", "{\"a\":1,}", "{\"a\" 1} "] {
            assert_eq!(members(left), None, "{left}");
        }
    }

    proptest! {
        #[test]
        fn an_end_is_that_of_the_cursor(text in "[\\[\\]{},:\"a1.0e\\\\ntrue-]{0,12}[ ,]") {
            if let Some(end) = end_of_value(text.as_bytes(), 0) {
                prop_assert_eq!(end_by_cursor(&text), Some(end));
            }
        }

        #[test]
        fn an_end_in_damaged_json_is_that_of_the_cursor(place in 0_usize..80, byte in "[\\[\\]{},:\"1.e\\\\ -]") {
            let mut text = r#"{"a": [1, -2.5, {}], "b": {"c": "x\"y", "d": [true, null, []]}, "e": 16.9} "#.to_owned();
            if place < text.len() {
                text.replace_range(place..=place, &byte);
            }
            if let Some(end) = end_of_value(text.as_bytes(), 0) {
                prop_assert_eq!(end_by_cursor(&text), Some(end));
            }
        }
    }
}
