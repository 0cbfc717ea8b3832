//! Rewrites numbers that JSON does not allow.

use super::event::Event;
use crate::chrome::cursor::{Cursor, exceeds_floats};
use std::borrow::Cow;

/// Calls `take` with an event whose numbers are valid JSON. An event with other numbers is rewritten first and keeps
/// its offset.
pub fn with_valid_numbers<T>(event: &Event<'_>, take: impl FnOnce(&Event<'_>) -> T) -> T {
    if !event.has_invalid_number {
        return take(event);
    }
    let json = repair_numbers(event.json);
    match Event::read(&mut Cursor::new(&json, 0), event.offset) {
        Ok(sound) => take(&sound),
        Err(_) => take(event),
    }
}

/// Rewrites the numbers of valid JSON: removes leading zeros, and turns numbers too large for a float into texts.
/// [`Cursor`] accepts no other invalid numbers.
pub fn repair_numbers(json: &[u8]) -> Cow<'_, [u8]> {
    let mut mended = Vec::new();
    let mut n_copied = 0;
    for_each_number(json, |begin, end| {
        let number = &json[begin..end];
        let sound = sound(number);
        if sound != number {
            mended.extend_from_slice(&json[n_copied..begin]);
            mended.extend_from_slice(&sound);
            n_copied = end;
        }
    });
    if n_copied == 0 {
        return Cow::Borrowed(json);
    }
    mended.extend_from_slice(&json[n_copied..]);
    Cow::Owned(mended)
}

fn sound(number: &[u8]) -> Cow<'_, [u8]> {
    if exceeds_floats(number) {
        return [b"\"", number, b"\""].concat().into();
    }
    let (sign, digits): (&[u8], &[u8]) = match number {
        [b'-', digits @ ..] => (b"-", digits),
        digits => (b"", digits),
    };
    let mut rest = digits;
    while let [b'0', after @ ..] = rest
        && after.first().is_some_and(u8::is_ascii_digit)
    {
        rest = after;
    }
    if rest.len() == digits.len() { number.into() } else { [sign, rest].concat().into() }
}

/// Calls `look` with the range of each number outside of texts.
fn for_each_number(json: &[u8], mut look: impl FnMut(usize, usize)) {
    let mut cursor = Cursor::new(json, 0);
    while let Some(byte) = cursor.peek() {
        match byte {
            b'"' => {
                if cursor.text().is_err() {
                    return;
                }
            }
            b'-' | b'0'..=b'9' => {
                let begin = cursor.at();
                let is_part = |byte: &u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
                let n_bytes = json[begin..].iter().take_while(|byte| is_part(byte)).count();
                look(begin, begin + n_bytes);
                cursor.jump(begin + n_bytes);
            }
            _ => cursor.step(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rewritten_as_valid_json() {
        let cases = [
            ("007", "7"),
            ("-000", "-0"),
            ("00.5", "0.5"),
            ("[01,{\"01\":087.830e01}]", "[1,{\"01\":87.830e01}]"),
            ("{\"a\":-1e999}", "{\"a\":\"-1e999\"}"),
            ("{\"a\":\"\\\"01\",\"b\":10}", "{\"a\":\"\\\"01\",\"b\":10}"),
            ("[0,0.5,1e5,true,null]", "[0,0.5,1e5,true,null]"),
        ];
        for (json, expected) in cases {
            assert_eq!(String::from_utf8_lossy(&repair_numbers(json.as_bytes())), expected, "{json}");
            serde_json::from_str::<serde_json::Value>(expected).unwrap();
        }
    }

    #[test]
    fn a_rewritten_event_keeps_its_offset() {
        let json = br#"{"ph":"X","tid":010,"ts":1}"#;
        let event = Event::read(&mut Cursor::new(json, 0), 40).unwrap();
        with_valid_numbers(&event, |event| {
            assert_eq!((event.json, event.offset), (&br#"{"ph":"X","tid":10,"ts":1}"#[..], 40));
            assert!(!event.has_invalid_number);
        });
    }
}
