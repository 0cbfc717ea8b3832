//! Checks the spelling of texts.

use super::findings::Findings;
use super::rules::texts::{CONTROL_BYTE, ESCAPE, FINAL_BACKSLASH, INVALID_UTF8, NUL, SURROGATE_PAIR};
use ferrum_trace_format::chrome::push_text;
use ferrum_trace_format::chrome::read::{Cursor, Event, Text};

/// Faults of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextFaults {
    /// An unnecessary escape.
    pub escape: bool,
    /// Halves of surrogate pairs as escapes.
    pub surrogate: bool,
    /// Half of a surrogate pair without the other half.
    pub half_surrogate: bool,
    /// An escaped backslash at the end.
    pub final_backslash: bool,
    /// A NUL.
    pub nul: bool,
    /// An unescaped control byte.
    pub control: bool,
    /// Bytes that are not UTF-8.
    pub invalid_utf8: bool,
}

impl TextFaults {
    /// Finds the faults of a text.
    pub(crate) fn of(text: Text<'_>) -> Self {
        let mut faults = Self { invalid_utf8: std::str::from_utf8(text.raw).is_err(), ..Self::default() };
        let mut rest = text.raw;
        while let Some((&byte, after)) = rest.split_first() {
            rest = match byte {
                b'\\' => faults.look_at_escape(after),
                0 => {
                    (faults.nul, faults.control) = (true, true);
                    after
                }
                1..0x20 => {
                    faults.control = true;
                    after
                }
                _ => after,
            };
        }
        faults
    }

    /// Examines the escape after a backslash, and returns the text after it.
    fn look_at_escape<'a>(&mut self, after: &'a [u8]) -> &'a [u8] {
        let Some((&escaped, rest)) = after.split_first() else {
            return after;
        };
        match escaped {
            b'/' => self.escape = true,
            b'\\' => self.final_backslash |= rest.is_empty(),
            b'u' => {
                let Some((digits, rest)) = rest.split_at_checked(4) else {
                    return rest;
                };
                let code = hexadecimal(digits);
                let code = code.unwrap_or(0xfffd);
                self.look_at_code(code, rest.is_empty());
                return match (code, code_unit(rest)) {
                    (0xd800..0xdc00, Some(0xdc00..0xe000)) => &rest[6..],
                    (0xd800..0xe000, _) => {
                        self.half_surrogate = true;
                        rest
                    }
                    _ => rest,
                };
            }
            _ => {}
        }
        rest
    }

    fn look_at_code(&mut self, code: u32, is_last: bool) {
        match code {
            0 => self.nul = true,
            // These cannot be written in another way that all viewers accept.
            1..0x20 | 0x7f => {}
            0x5c if is_last => {}
            0xd800..0xe000 => self.surrogate = true,
            _ => self.escape = true,
        }
    }

    fn any(self) -> bool {
        self != Self::default()
    }

    /// Returns true if the text is not valid JSON.
    fn is_broken(self) -> bool {
        self.half_surrogate || self.control || self.invalid_utf8
    }

    fn add(&mut self, other: Self) {
        self.escape |= other.escape;
        self.surrogate |= other.surrogate;
        self.half_surrogate |= other.half_surrogate;
        self.final_backslash |= other.final_backslash;
        self.nul |= other.nul;
        self.control |= other.control;
        self.invalid_utf8 |= other.invalid_utf8;
    }
}

/// Parses the number in `\u1234` at the beginning of a text.
fn code_unit(text: &[u8]) -> Option<u32> {
    hexadecimal(text.strip_prefix(b"\\u")?.get(..4)?)
}

fn hexadecimal(digits: &[u8]) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Returns true if a text in a piece of JSON may have a fault. This is a fast check.
pub(crate) fn is_suspect(json: &[u8]) -> bool {
    // Without an early exit, the compiler examines many bytes at once.
    let has_special = json.iter().fold(false, |found, &byte| found | (byte == b'\\') | (byte < 0x20));
    has_special || std::str::from_utf8(json).is_err()
}

/// Checks all texts of an event.
pub(crate) fn check_texts(event: &Event<'_>, findings: &mut Findings) {
    if !is_suspect(event.json) {
        return;
    }
    let mut faults = TextFaults::default();
    for_each_text(event.json, |_, _, text| faults.add(TextFaults::of(text)));
    let found = [
        (faults.escape, &ESCAPE),
        (faults.surrogate, &SURROGATE_PAIR),
        (faults.final_backslash, &FINAL_BACKSLASH),
        (faults.nul, &NUL),
        (faults.control, &CONTROL_BYTE),
        (faults.invalid_utf8, &INVALID_UTF8),
    ];
    for (_, rule) in found.into_iter().filter(|(is_there, _)| *is_there) {
        findings.note(rule, event);
    }
}

/// Finds texts that are not valid JSON in a piece of JSON.
pub(crate) fn check_broken_texts(json: &[u8], findings: &mut Findings) {
    if !is_suspect(json) {
        return;
    }
    let mut faults = TextFaults::default();
    for_each_text(json, |_, _, text| faults.add(TextFaults::of(text)));
    let found = [
        (faults.half_surrogate, &SURROGATE_PAIR),
        (faults.control, &CONTROL_BYTE),
        (faults.invalid_utf8, &INVALID_UTF8),
    ];
    for (_, rule) in found.into_iter().filter(|(is_there, _)| *is_there) {
        findings.note_somewhere(rule);
    }
}

/// Rewrites the texts of a piece of JSON that have faults. Returns `None` if no text has.
pub(crate) fn mend_texts(json: &[u8]) -> Option<Vec<u8>> {
    mend_texts_with(json, TextFaults::any)
}

/// Rewrites the texts of a piece of JSON that are not valid JSON. Returns `None` if all are valid.
pub(crate) fn mend_broken_texts(json: &[u8]) -> Option<Vec<u8>> {
    mend_texts_with(json, TextFaults::is_broken)
}

fn mend_texts_with(json: &[u8], is_mended: impl Fn(TextFaults) -> bool) -> Option<Vec<u8>> {
    if !is_suspect(json) {
        return None;
    }
    let mut mended = Vec::new();
    let mut n_copied = 0;
    for_each_text(json, |begin, end, text| {
        if is_mended(TextFaults::of(text)) {
            mended.extend_from_slice(&json[n_copied..begin]);
            push_text(&mut mended, &text.decode());
            n_copied = end;
        }
    });
    if n_copied == 0 {
        return None;
    }
    mended.extend_from_slice(&json[n_copied..]);
    Some(mended)
}

/// Visits all texts of a piece of JSON, keys included, with the offsets of their quotes.
fn for_each_text<'a>(json: &'a [u8], mut look: impl FnMut(usize, usize, Text<'a>)) {
    let mut at = 0;
    while let Some(distance) = json[at..].iter().position(|&byte| byte == b'"') {
        let begin = at + distance;
        let mut cursor = Cursor::new(json, begin);
        let Ok(text) = cursor.text() else {
            return;
        };
        at = cursor.at();
        look(begin, at, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(raw: &[u8]) -> TextFaults {
        TextFaults::of(Text { raw, is_escaped: raw.contains(&b'\\') })
    }

    #[test]
    fn required_escapes_are_not_faults() {
        for raw in [r"a\nb\t\r\b\f", r#"say \"hi\""#, r"C:\\a", r"\u001b[1m", r"\u007f", r"a\u005c", "é😀"] {
            assert!(!faults(raw.as_bytes()).any(), "{raw}");
            assert_eq!(mend_texts(format!("{{\"{raw}\":\"{raw}\"}}").as_bytes()), None);
        }
    }

    #[test]
    fn each_fault_is_detected_and_mended() {
        let none = TextFaults::default();
        let cases: [(&[u8], TextFaults, &str); 9] = [
            (br"\u00e9", TextFaults { escape: true, ..none }, "é"),
            (br"a\/b", TextFaults { escape: true, ..none }, "a/b"),
            (br"\ud83d\ude00", TextFaults { surrogate: true, ..none }, "😀"),
            (br"\ud83d", TextFaults { surrogate: true, half_surrogate: true, ..none }, "\u{fffd}"),
            (br"C:\\", TextFaults { final_backslash: true, ..none }, r"C:\u005c"),
            (br"a\u0000", TextFaults { nul: true, ..none }, "a␀"),
            (b"a\nb", TextFaults { control: true, ..none }, r"a\nb"),
            (b"a\0", TextFaults { control: true, nul: true, ..none }, "a␀"),
            (b"a\xff", TextFaults { invalid_utf8: true, ..none }, "a\u{fffd}"),
        ];
        for (raw, expected, mended) in cases {
            assert_eq!(faults(raw), expected);
            let json = [b"{\"k\" : \"", raw, b"\" }"].concat();
            let expected = format!("{{\"k\" : \"{mended}\" }}");
            assert_eq!(mend_texts(&json).map(|json| String::from_utf8(json).unwrap()), Some(expected.clone()));
            assert_eq!(mend_texts(expected.as_bytes()), None);
        }
    }
}
