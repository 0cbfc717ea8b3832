//! Checks that a text is one JSON object.

/// Maximum depth that is accepted.
const DEPTH_MAX: usize = 64;

/// Returns true if `text` is one valid JSON object and nothing else.
pub(crate) fn is_object(text: &[u8]) -> bool {
    let mut checker = Checker { rest: text };
    text.first() == Some(&b'{') && checker.value(DEPTH_MAX).is_some() && checker.rest.is_empty()
}

struct Checker<'a> {
    rest: &'a [u8],
}

impl Checker<'_> {
    fn value(&mut self, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match self.rest.first()? {
            b'{' => self.list(b'}', |checker| {
                checker.text()?;
                checker.expect(b":")?;
                checker.value(depth)
            }),
            b'[' => self.list(b']', |checker| checker.value(depth)),
            b'"' => self.text(),
            b't' => self.expect(b"true"),
            b'f' => self.expect(b"false"),
            b'n' => self.expect(b"null"),
            _ => self.number(),
        }
    }

    fn list(&mut self, close: u8, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.rest = &self.rest[1..];
        if self.rest.first() == Some(&close) {
            return self.expect(&[close]);
        }
        loop {
            item(self)?;
            match self.rest.split_first()? {
                (b',', rest) => self.rest = rest,
                (byte, rest) if *byte == close => {
                    self.rest = rest;
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    fn expect(&mut self, text: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(text)?;
        Some(())
    }

    fn text(&mut self) -> Option<()> {
        self.expect(b"\"")?;
        loop {
            let (byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            match byte {
                b'"' => return Some(()),
                b'\\' => self.escape()?,
                0..0x20 => return None,
                _ => {}
            }
        }
    }

    fn escape(&mut self) -> Option<()> {
        let (byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        match byte {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(()),
            _ => None,
        }
        .or_else(|| {
            // The recorder writes `\u00..` for control characters only, so surrogates are refused.
            let (digits, rest) = self.rest.split_at_checked(4)?;
            let is_control = *byte == b'u' && digits.starts_with(b"00") && digits.iter().all(u8::is_ascii_hexdigit);
            self.rest = rest;
            is_control.then_some(())
        })
    }

    fn number(&mut self) -> Option<()> {
        let len =
            self.rest.iter().take_while(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')).count();
        let (number, rest) = self.rest.split_at(len);
        self.rest = rest;
        is_number(number).then_some(())
    }
}

fn is_number(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let (whole, text) = split_digits(text);
    if whole.is_empty() || (whole.len() > 1 && whole[0] == b'0') {
        return false;
    }
    let text = match text.strip_prefix(b".") {
        Some(fraction) => match split_digits(fraction) {
            ([], _) => return false,
            (_, rest) => rest,
        },
        None => text,
    };
    match text.split_first() {
        None => true,
        Some((b'e' | b'E', exponent)) => {
            let exponent = exponent.strip_prefix(b"+").or(exponent.strip_prefix(b"-")).unwrap_or(exponent);
            let (digits, rest) = split_digits(exponent);
            !digits.is_empty() && rest.is_empty()
        }
        Some(_) => false,
    }
}

fn split_digits(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().take_while(|byte| byte.is_ascii_digit()).count())
}

#[cfg(test)]
mod tests {
    use super::is_object;
    use proptest::prelude::*;

    #[test]
    fn objects_are_accepted_and_similar_texts_are_not() {
        for good in ["{}", r#"{"a":1}"#, r#"{"a":[1,-2.5e-3,{"b":null}],"c":"x\n\u001f","d":true}"#] {
            assert!(is_object(good.as_bytes()), "{good}");
        }
        for bad in ["", "[]", "{", "{}}", r#"{"a":}"#, r#"{"a":01}"#, r#"{"a":"\ud800"}"#, "{\"a\":\"\n\"}", r#"{a:1}"#]
        {
            assert!(!is_object(bad.as_bytes()), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn accepted_text_is_valid_json(text in r#"[{}\[\]",:0-9eE.+\-a\\ntrufl]{0,24}"#) {
            let text = format!("{{{text}}}");
            if is_object(text.as_bytes()) {
                prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{}", text);
            }
        }
    }
}
