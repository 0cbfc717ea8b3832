//! Writes single JSON values.

use ferrum_trace_model::Value;

/// Two digits for each number below 100.
const DIGIT_PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut n = 0;
    while n < 100 {
        pairs[n] = [b'0' + (n / 10) as u8, b'0' + (n % 10) as u8];
        n += 1;
    }
    pairs
};

/// Writes a number in decimal.
#[inline]
pub fn push_decimal(out: &mut Vec<u8>, number: u64) {
    let mut digits = [0; 20];
    let start = put_decimal(&mut digits, number);
    out.extend_from_slice(&digits[start..]);
}

/// Writes the digits to the end of `digits` and returns the index of the first one.
#[inline]
fn put_decimal<const N: usize>(digits: &mut [u8; N], number: u64) -> usize {
    put_decimal_before(digits, N, number)
}

/// Writes the digits before `end` and returns the index of the first one.
#[inline]
fn put_decimal_before<const N: usize>(digits: &mut [u8; N], end: usize, mut number: u64) -> usize {
    let mut at = end;
    while number >= 100 {
        at -= 2;
        digits[at..at + 2].copy_from_slice(&DIGIT_PAIRS[(number % 100) as usize]);
        number /= 100;
    }
    if number >= 10 {
        at -= 2;
        digits[at..at + 2].copy_from_slice(&DIGIT_PAIRS[number as usize]);
    } else {
        at -= 1;
        digits[at] = b'0' + number as u8;
    }
    at
}

/// Writes nanoseconds as microseconds with exactly three decimals.
#[inline]
pub fn push_micros(out: &mut Vec<u8>, nanos: u64) {
    let mut text = [0; 24];
    let start = put_micros(&mut text, 24, nanos);
    out.extend_from_slice(&text[start..]);
}

/// Writes microseconds with three decimals before `end` and returns the index of the first byte.
#[inline]
fn put_micros<const N: usize>(text: &mut [u8; N], end: usize, nanos: u64) -> usize {
    let (micros, fraction) = (nanos / 1000, (nanos % 1000) as usize);
    let [tens, ones] = DIGIT_PAIRS[fraction % 100];
    text[end - 4..end].copy_from_slice(&[b'.', b'0' + (fraction / 100) as u8, tens, ones]);
    put_decimal_before(text, end - 4, micros)
}

/// The text between the two times of a slice.
const DURATION_KEY: &[u8; 7] = b",\"dur\":";
/// Room for two times and the text between them: 24 + 7 + 24 bytes, which also covers a copy of fixed length.
const TIMES_BYTES: usize = 55;
/// Bytes that are copied at once for any pair of times; longer pairs need a second copy.
const TIMES_COPIED: usize = 32;

/// Writes the times of a slice, `1234.567,"dur":0.089`.
#[inline]
pub(crate) fn push_start_and_duration(out: &mut Vec<u8>, start: u64, duration: u64) {
    let mut text = [0; TIMES_BYTES + TIMES_COPIED];
    let at = put_micros(&mut text, TIMES_BYTES, duration);
    text[at - DURATION_KEY.len()..at].copy_from_slice(DURATION_KEY);
    let at = put_micros(&mut text, at - DURATION_KEY.len(), start);
    let n_bytes = TIMES_BYTES - at;
    if n_bytes <= TIMES_COPIED {
        let end = out.len() + n_bytes;
        out.extend_from_slice(&text[at..at + TIMES_COPIED]);
        out.truncate(end);
    } else {
        out.extend_from_slice(&text[at..TIMES_BYTES]);
    }
}

/// Category of metadata events, by Chrome's convention.
pub const METADATA_CATEGORY: &str = "__metadata";

/// A field that keeps chrome://tracing from warning about a metadata event with an unknown name: it treats the event as
/// one without arguments. Other viewers ignore the field.
pub const ARGS_STRIPPED: &str = "argsStripped";

/// Writes a JSON string as raw UTF-8. Only characters that JSON requires are escaped, since viewers show escapes as
/// typed; NUL becomes `␀` (U+2400), since Perfetto cuts a string there.
pub fn push_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(plain) = rest.iter().position(|&byte| needs_escape(byte)) {
        out.extend_from_slice(&rest[..plain]);
        let is_last = plain + 1 == rest.len();
        push_escaped(out, rest[plain], is_last);
        rest = &rest[plain + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

fn needs_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\' || byte == 0x7f
}

fn push_escaped(out: &mut Vec<u8>, byte: u8, is_last: bool) {
    match byte {
        // Perfetto reads the quote after `\\` as an escaped one and loses the rest of the file.
        b'\\' if is_last => out.extend_from_slice(b"\\u005c"),
        b'"' => out.extend_from_slice(b"\\\""),
        b'\\' => out.extend_from_slice(b"\\\\"),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        0 => out.extend_from_slice("␀".as_bytes()),
        _ => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
    }
}

/// Writes the value of an argument. NaN and the infinities, which JSON does not allow, become the texts `NaN`,
/// `Infinity` and `-Infinity`; a lost value becomes the text `(lost)`.
pub(crate) fn push_args_value(out: &mut Vec<u8>, value: &Value<'_>) {
    match value {
        Value::Signed(number) => push_signed(out, *number),
        Value::Unsigned(number) => push_decimal(out, *number),
        Value::Float(number) if number.is_finite() => push_float(out, *number),
        Value::Float(number) if number.is_nan() => push_text(out, "NaN"),
        Value::Float(number) if *number > 0.0 => push_text(out, "Infinity"),
        Value::Float(_) => push_text(out, "-Infinity"),
        Value::Bool(truth) => out.extend_from_slice(if *truth { b"true" } else { b"false" }),
        Value::Text(text) => push_text(out, text),
        Value::Lost => push_text(out, "(lost)"),
    }
}

/// Writes the value of a counter; booleans become 1 and 0. Returns false, without writing anything, if the value is not
/// a finite number: viewers would refuse the file.
pub(crate) fn push_counter_value(out: &mut Vec<u8>, value: &Value<'_>) -> bool {
    match value {
        Value::Signed(_) | Value::Unsigned(_) => push_args_value(out, value),
        Value::Float(number) if number.is_finite() => push_float(out, *number),
        Value::Bool(truth) => out.push(b'0' + u8::from(*truth)),
        Value::Float(_) | Value::Text(_) | Value::Lost => return false,
    }
    true
}

fn push_signed(out: &mut Vec<u8>, number: i64) {
    if number < 0 {
        out.push(b'-');
    }
    push_decimal(out, number.unsigned_abs());
}

/// Writes the shortest decimal that parses to the same float.
fn push_float(out: &mut Vec<u8>, number: f64) {
    out.extend_from_slice(format!("{number:?}").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(push: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        push(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn microseconds_have_three_decimals() {
        for (nanos, text) in [(0, "0.000"), (7, "0.007"), (1_234_567, "1234.567"), (u64::MAX, "18446744073709551.615")]
        {
            assert_eq!(written(|out| push_micros(out, nanos)), text);
        }
    }

    #[test]
    fn times_of_a_slice_of_any_length_are_written() {
        for (start, duration) in [(0, 0), (1_234_567, 89), (u64::MAX, u64::MAX), (123_456_789_012_345, 1)] {
            let text = written(|out| push_start_and_duration(out, start, duration));
            let apart = (written(|out| push_micros(out, start)), written(|out| push_micros(out, duration)));
            assert_eq!(text, format!("{},\"dur\":{}", apart.0, apart.1));
        }
    }

    #[test]
    fn values_that_json_does_not_allow_become_texts() {
        for (value, text) in [
            (Value::Float(f64::NAN), "\"NaN\""),
            (Value::Float(f64::INFINITY), "\"Infinity\""),
            (Value::Float(f64::NEG_INFINITY), "\"-Infinity\""),
            (Value::Lost, "\"(lost)\""),
            (Value::Float(1e300), "1e300"),
            (Value::Signed(i64::MIN), "-9223372036854775808"),
            (Value::Text("a\0b".into()), "\"a␀b\""),
            (Value::Text("C:\\a\\".into()), r#""C:\\a\u005c""#),
        ] {
            assert_eq!(written(|out| push_args_value(out, &value)), text);
        }
    }

    #[test]
    fn a_counter_accepts_numbers_only() {
        let mut out = Vec::new();
        for value in [Value::Float(f64::NAN), Value::Text("1".into()), Value::Lost] {
            assert!(!push_counter_value(&mut out, &value));
        }
        assert!(out.is_empty());
        assert!(push_counter_value(&mut out, &Value::Bool(true)));
        assert_eq!(out, b"1");
    }

    proptest! {
        #[test]
        fn numbers_and_texts_are_read_back_unchanged(number: u64, float: f64, text: String) {
            prop_assert_eq!(written(|out| push_decimal(out, number)), number.to_string());
            let read: String = serde_json::from_str(&written(|out| push_text(out, &text))).unwrap();
            prop_assert_eq!(read, text.replace('\0', "␀"));
            if float.is_finite() {
                let encoded = written(|out| push_args_value(out, &Value::Float(float)));
                prop_assert_eq!(encoded.parse::<f64>().unwrap().to_bits(), float.to_bits());
            }
        }
    }
}
