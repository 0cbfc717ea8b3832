//! A minimal JSON scanner: finds values and checks that they are complete.

use super::plain;
use super::text::Text;

/// The reason why a value could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The bytes end before the value does.
    End,
    /// The value is not JSON.
    Bad {
        /// Offset of the invalid byte.
        at: usize,
        /// The expected input.
        expected: &'static str,
    },
}

/// A position in JSON text.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    nest: Nest,
    has_invalid_number: bool,
}

impl<'a> Cursor<'a> {
    /// Creates a cursor at offset `at` of `bytes`.
    pub fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at, nest: Nest::default(), has_invalid_number: false }
    }

    /// Returns true if, since the last call, the cursor has passed a number that JSON does not allow: one with leading
    /// zeros, or one too large for a float.
    pub(crate) fn take_invalid_number(&mut self) -> bool {
        std::mem::take(&mut self.has_invalid_number)
    }

    /// Returns the whole text.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the offset.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Moves to another offset.
    pub fn jump(&mut self, at: usize) {
        self.at = at;
    }

    /// Returns the next byte, if there is one.
    #[inline(always)]
    pub fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Skips the next byte.
    #[inline(always)]
    pub fn step(&mut self) {
        self.at += 1;
    }

    /// Skips spaces and line ends.
    #[inline(always)]
    pub fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    /// Skips spaces and returns the next byte without consuming it.
    #[inline(always)]
    pub(crate) fn next_visible(&mut self) -> Result<u8, Stop> {
        self.skip_space();
        self.peek().ok_or(Stop::End)
    }

    /// Skips spaces and the given byte, which must come next.
    #[inline(always)]
    pub fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), Stop> {
        if self.next_visible()? != byte {
            return Err(self.bad(expected));
        }
        self.at += 1;
        Ok(())
    }

    /// Returns an error for the current offset.
    #[inline]
    pub fn bad(&self, expected: &'static str) -> Stop {
        Stop::Bad { at: self.at, expected }
    }

    /// Reads a string; the next byte is its quote.
    #[inline]
    pub fn text(&mut self) -> Result<Text<'a>, Stop> {
        if self.peek().ok_or(Stop::End)? != b'"' {
            return Err(self.bad("a text"));
        }
        self.at += 1;
        let start = self.at;
        let mut is_escaped = false;
        loop {
            match self.seek_quote_or_backslash()? {
                b'"' => {
                    let raw = &self.bytes[start..self.at];
                    self.at += 1;
                    return Ok(Text { raw, is_escaped });
                }
                _ => {
                    is_escaped = true;
                    self.escape()?;
                }
            }
        }
    }

    /// Moves to the next quote or backslash.
    #[inline(always)]
    fn seek_quote_or_backslash(&mut self) -> Result<u8, Stop> {
        match plain::quote_or_backslash(self.bytes, self.at) {
            Some(at) => {
                self.at = at;
                Ok(self.bytes[at])
            }
            None => {
                self.at = self.bytes.len();
                Err(Stop::End)
            }
        }
    }

    /// Skips an escape sequence.
    #[inline]
    fn escape(&mut self) -> Result<(), Stop> {
        let escaped = *self.bytes.get(self.at + 1).ok_or(Stop::End)?;
        match escaped {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.at += 2,
            b'u' => {
                let digits = self.bytes.get(self.at + 2..self.at + 6).ok_or(Stop::End)?;
                if !digits.iter().all(u8::is_ascii_hexdigit) {
                    return Err(self.bad("four hexadecimal digits after `\\u`"));
                }
                self.at += 6;
            }
            _ => return Err(self.bad("a valid escape")),
        }
        Ok(())
    }

    /// Reads a number; the next byte is its first.
    #[inline]
    pub fn number(&mut self) -> Result<&'a [u8], Stop> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let whole = self.at;
        self.digits()?;
        self.has_invalid_number |= self.bytes[whole] == b'0' && self.at - whole > 1;
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        let mut n_exponent_digits = 0;
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            let exponent = self.at;
            self.digits()?;
            n_exponent_digits = self.at - exponent;
        }
        // At the end of the buffer the number may be incomplete.
        self.peek().ok_or(Stop::End)?;
        let number = &self.bytes[start..self.at];
        if n_exponent_digits > 2 || number.len() > FLOAT_BYTES_MAX {
            self.has_invalid_number |= exceeds_floats(number);
        }
        Ok(number)
    }

    #[inline]
    fn digits(&mut self) -> Result<(), Stop> {
        if !self.peek().ok_or(Stop::End)?.is_ascii_digit() {
            return Err(self.bad("a digit"));
        }
        self.at += 1;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        Ok(())
    }

    fn word(&mut self, word: &'static [u8], expected: &'static str) -> Result<(), Stop> {
        let rest = &self.bytes[self.at..];
        let n_same = rest.iter().zip(word).take_while(|(found, wanted)| found == wanted).count();
        if n_same == word.len() {
            self.at += word.len();
            return Ok(());
        }
        if n_same == rest.len() { Err(Stop::End) } else { Err(self.bad(expected)) }
    }

    /// Reads any value and returns its JSON.
    #[inline]
    pub fn value(&mut self) -> Result<&'a [u8], Stop> {
        let first = self.next_visible()?;
        let start = self.at;
        match first {
            b'"' => drop(self.text()?),
            b'-' | b'0'..=b'9' => drop(self.number()?),
            _ => self.skip_value()?,
        }
        Ok(&self.bytes[start..self.at])
    }

    /// Skips a value of any depth and checks that it is JSON.
    #[inline]
    pub fn skip_value(&mut self) -> Result<(), Stop> {
        match plain::end_of_value(self.bytes, self.at) {
            Some(end) => {
                self.at = end;
                Ok(())
            }
            None => self.skip_value_carefully(),
        }
    }

    /// Skips any value, as [`skip_value`](Self::skip_value) does.
    pub(super) fn skip_value_carefully(&mut self) -> Result<(), Stop> {
        self.nest.clear();
        loop {
            if self.open_or_skip_scalar()? == Opened::Container {
                continue;
            }
            if self.close()? == Closed::All {
                return Ok(());
            }
        }
    }

    /// Reads the object that comes next and calls `look` with the key and the JSON of each member. Returns `None`, and
    /// stays where it is, if [`value_with_members`](Self::value_with_members) has to read it; `look` may have been
    /// called then.
    #[inline(always)]
    pub(crate) fn plain_members(&mut self, look: impl FnMut(&'a [u8], &'a [u8])) -> Option<&'a [u8]> {
        self.skip_space();
        let start = self.at;
        self.at = plain::for_each_member(self.bytes, start, look)?;
        Some(&self.bytes[start..self.at])
    }

    /// Reads any value as [`value`](Self::value) does. If it is an object, calls `look` with the key and the JSON of
    /// each member.
    #[inline]
    pub(crate) fn value_with_members(&mut self, mut look: impl FnMut(Text<'a>, &'a [u8])) -> Result<&'a [u8], Stop> {
        if self.next_visible()? != b'{' {
            return self.value();
        }
        let start = self.at;
        self.at += 1;
        if self.next_visible()? == b'}' {
            self.at += 1;
            return Ok(&self.bytes[start..self.at]);
        }
        loop {
            self.skip_space();
            let key = self.key()?;
            let value = self.value()?;
            look(key, value);
            match self.next_visible()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Ok(&self.bytes[start..self.at]);
                }
                _ => return Err(self.bad("`,` or `}`")),
            }
        }
    }

    /// Skips a scalar or an empty container, or enters a container up to its first value.
    #[inline(always)]
    fn open_or_skip_scalar(&mut self) -> Result<Opened, Stop> {
        match self.next_visible()? {
            b'"' => self.text().map(|_| Opened::Nothing),
            b'-' | b'0'..=b'9' => self.number().map(|_| Opened::Nothing),
            b'{' => {
                self.at += 1;
                if self.next_visible()? == b'}' {
                    self.at += 1;
                    return Ok(Opened::Nothing);
                }
                self.nest.push(Container::Object);
                self.key().map(|_| Opened::Container)
            }
            b'[' => {
                self.at += 1;
                if self.next_visible()? == b']' {
                    self.at += 1;
                    return Ok(Opened::Nothing);
                }
                self.nest.push(Container::Array);
                Ok(Opened::Container)
            }
            b't' => self.word(b"true", "`true`").map(|()| Opened::Nothing),
            b'f' => self.word(b"false", "`false`").map(|()| Opened::Nothing),
            b'n' => self.word(b"null", "`null`").map(|()| Opened::Nothing),
            b'N' | b'I' => Err(self.bad("a valid number, not NaN or Infinity")),
            _ => Err(self.bad("a value")),
        }
    }

    /// After a value: closes containers, and moves to the next value if there is one.
    #[inline(always)]
    fn close(&mut self) -> Result<Closed, Stop> {
        loop {
            let Some(container) = self.nest.top() else {
                return Ok(Closed::All);
            };
            match (container, self.next_visible()?) {
                (Container::Object, b',') => {
                    self.at += 1;
                    self.skip_space();
                    self.key()?;
                    return Ok(Closed::Some);
                }
                (Container::Array, b',') => {
                    self.at += 1;
                    return Ok(Closed::Some);
                }
                (Container::Object, b'}') | (Container::Array, b']') => {
                    self.at += 1;
                    self.nest.pop();
                }
                (Container::Object, _) => return Err(self.bad("`,` or `}`")),
                (Container::Array, _) => return Err(self.bad("`,` or `]`")),
            }
        }
    }

    /// Reads a key and its colon.
    #[inline(always)]
    pub fn key(&mut self) -> Result<Text<'a>, Stop> {
        let start = self.at;
        let key = match plain::end_of_plain_text(self.bytes, start) {
            Some(end) => {
                self.at = end;
                Text::plain(&self.bytes[start + 1..end - 1])
            }
            None => self.text()?,
        };
        if self.peek() == Some(b':') {
            self.at += 1;
        } else {
            self.expect(b':', "`:`")?;
        }
        Ok(key)
    }
}

/// A number with at most this many bytes and an exponent of at most two digits is within the range of a float.
const FLOAT_BYTES_MAX: usize = 200;

/// Returns true if a number is too large for a float. Many readers refuse a file with such a number.
#[cold]
pub(crate) fn exceeds_floats(number: &[u8]) -> bool {
    let number = std::str::from_utf8(number).ok().and_then(|number| number.parse::<f64>().ok());
    number.is_some_and(f64::is_infinite)
}

#[derive(PartialEq, Eq)]
enum Opened {
    Container,
    Nothing,
}

#[derive(PartialEq, Eq)]
enum Closed {
    All,
    Some,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Container {
    Array,
    Object,
}

/// The stack of open containers, with one bit each: a hundred thousand levels take a few kilobytes.
#[derive(Clone, Debug, Default)]
struct Nest {
    /// The innermost 64 at most: the lowest bit is the innermost container and is set for an object.
    inner: u64,
    n_inner: u32,
    /// The containers around them.
    outer: Vec<u64>,
}

impl Nest {
    fn clear(&mut self) {
        self.inner = 0;
        self.n_inner = 0;
        self.outer.clear();
    }

    #[inline(always)]
    fn push(&mut self, container: Container) {
        if self.n_inner == 64 {
            self.outer.push(self.inner);
            self.n_inner = 0;
        }
        self.inner = self.inner << 1 | u64::from(container == Container::Object);
        self.n_inner += 1;
    }

    #[inline(always)]
    fn pop(&mut self) {
        self.inner >>= 1;
        self.n_inner -= 1;
        if self.n_inner == 0
            && let Some(outer) = self.outer.pop()
        {
            self.inner = outer;
            self.n_inner = 64;
        }
    }

    #[inline(always)]
    fn top(&self) -> Option<Container> {
        let container = if self.inner & 1 == 1 { Container::Object } else { Container::Array };
        (self.n_inner > 0).then_some(container)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reads a value that is followed by a space.
    fn read(text: &str) -> Result<usize, Stop> {
        let text = format!("{text} ");
        let mut cursor = Cursor::new(text.as_bytes(), 0);
        cursor.skip_value().map(|()| cursor.at())
    }

    fn has_invalid_number(text: &str) -> bool {
        let text = format!("{text} ");
        let mut cursor = Cursor::new(text.as_bytes(), 0);
        cursor.skip_value().unwrap();
        cursor.take_invalid_number()
    }

    #[test]
    fn numbers_that_json_does_not_allow_are_reported() {
        let zeros = "0".repeat(400);
        for odd in ["00", "-01", "[1,{\"a\":087.5}]", "1e999", "-1.5E+400", &format!("1{zeros}")] {
            assert!(has_invalid_number(odd), "{odd}");
        }
        for sound in ["0", "-0", "0.001", "1e308", "1e-999", "\"01\"", "[10,100]", &format!("0.{zeros}1")] {
            assert!(!has_invalid_number(sound), "{sound}");
        }
    }

    #[test]
    fn values_of_every_kind_are_read_to_their_end() {
        let values = [
            r#""""#,
            r#""a\"b\\""#,
            r#""\u00e9 and more than eight""#,
            "0",
            "-1.5e+7",
            "1E9",
            "true",
            "false",
            "null",
            "[]",
            "{}",
            "[1,[2,{}],\"]\"]",
            r#"{"a":{"b":[1,2]},"c":"}"}"#,
            "[ 1 , 2 ]",
            "{ \"a\" : 1 }",
        ];
        for value in values {
            assert_eq!(read(value), Ok(value.len()), "{value}");
        }
    }

    #[test]
    fn invalid_json_is_refused_at_the_right_offset() {
        let cases = [
            ("NaN", 0),
            ("-Infinity", 1),
            ("[1 2]", 3),
            ("{\"a\" 1}", 5),
            ("{a:1}", 1),
            ("[1}", 2),
            ("tru}", 0),
            ("\"\\x\"", 1),
            ("\"\\u12g4\"", 1),
            ("1.x", 2),
            ("{\"a\":1,}", 7),
            ("[1,]", 3),
            ("]", 0),
        ];
        for (text, place) in cases {
            match read(text) {
                Err(Stop::Bad { at, .. }) => assert_eq!(at, place, "{text}"),
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    #[test]
    fn truncated_json_is_not_called_invalid() {
        let text = r#"{"a":[1.5e3,true,null,"x\u00e9\"yyyyyyyyyyyyyy"],"b":{"c":-12}} "#;
        assert!(Cursor::new(text.as_bytes(), 0).skip_value().is_ok());
        for len in 0..text.len() - 1 {
            assert_eq!(Cursor::new(&text.as_bytes()[..len], 0).skip_value(), Err(Stop::End), "{len}");
        }
    }

    #[test]
    fn any_depth_is_accepted() {
        for depth in [63, 64, 65, 128, 129, 100_000] {
            let text = format!("{}{}", "[{\"a\":".repeat(depth), "0");
            let text = format!("{text}{}", "}]".repeat(depth));
            assert_eq!(read(&text), Ok(text.len()), "{depth}");
        }
    }

    proptest! {
        #[test]
        fn agrees_with_serde_json(value in json_value()) {
            let text = serde_json::to_string(&value).unwrap();
            prop_assert_eq!(read(&text), Ok(text.len()));
            let text = serde_json::to_string_pretty(&value).unwrap();
            prop_assert_eq!(read(&text), Ok(text.len()));
        }

        #[test]
        fn accepts_nothing_that_serde_json_refuses(text in "[\\[\\]{},:\"a1.e\\\\-]{0,12}") {
            if let Ok(len) = read(&text) {
                prop_assert!(serde_json::from_str::<serde_json::Value>(&text[..len.min(text.len())]).is_ok()
                    // Numbers with leading zeros or too large for a float are accepted and reported.
                    || has_invalid_number(&text));
            }
        }
    }

    fn json_value() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<f64>().prop_map(Into::into),
            any::<String>().prop_map(Into::into),
        ];
        leaf.prop_recursive(5, 40, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
                proptest::collection::btree_map(any::<String>(), inner, 0..6)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }
}
