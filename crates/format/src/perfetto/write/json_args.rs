//! Writes arguments that are given as JSON.

use super::argument::{ArgumentOutput, Arguments, Empty, Slot};
use crate::chrome::{Cursor, Stop, Text};
use crate::perfetto::wire::Push;
use ferrum_trace_model::Value;

/// Maximum depth; deeper values are written as text, since trace_processor and others read nested values recursively.
const DEPTH_MAX: usize = 64;
/// Name of an argument value that is not an object.
const NAMELESS: &str = "args";

/// Writes the fields of a JSON object as arguments. Invalid JSON is written as a text.
pub(crate) fn push(arguments: &mut Arguments, out: &mut ArgumentOutput<'_>, json: &[u8]) {
    let trimmed = json.trim_ascii();
    let n_before = out.fields.len();
    let mut cursor = Cursor::new(trimmed, 0);
    let written = match trimmed.first() {
        Some(b'{') => push_entries(arguments, out, &mut cursor, true, 1),
        _ => push_value(arguments, out, &mut cursor, Slot::Argument(NAMELESS), 1),
    };
    // A number at the very end of the bytes is taken for incomplete, and lands here too.
    if written.is_err() {
        out.fields.truncate(n_before);
        push_leaf(arguments, out, Slot::Argument(NAMELESS), trimmed);
    }
}

/// Writes the entries of an object; its brace is next.
fn push_entries(
    arguments: &mut Arguments,
    out: &mut ArgumentOutput<'_>,
    cursor: &mut Cursor<'_>,
    is_outermost: bool,
    depth: usize,
) -> Result<(), Stop> {
    cursor.step();
    if cursor.next_visible()? == b'}' {
        cursor.step();
        return Ok(());
    }
    loop {
        cursor.skip_space();
        let key = cursor.key()?.decode();
        let slot = if is_outermost { Slot::Argument(&key) } else { Slot::Entry(&key) };
        push_value(arguments, out, cursor, slot, depth)?;
        if cursor.next_visible()? != b',' {
            return cursor.expect(b'}', "`}`");
        }
        cursor.step();
    }
}

fn push_elements(
    arguments: &mut Arguments,
    out: &mut ArgumentOutput<'_>,
    cursor: &mut Cursor<'_>,
    depth: usize,
) -> Result<(), Stop> {
    cursor.step();
    loop {
        push_value(arguments, out, cursor, Slot::Element, depth)?;
        if cursor.next_visible()? != b',' {
            return cursor.expect(b']', "`]`");
        }
        cursor.step();
    }
}

fn push_value(
    arguments: &mut Arguments,
    out: &mut ArgumentOutput<'_>,
    cursor: &mut Cursor<'_>,
    slot: Slot<'_>,
    depth: usize,
) -> Result<(), Stop> {
    let first = cursor.next_visible()?;
    if !matches!(first, b'{' | b'[') || depth >= DEPTH_MAX {
        let value = cursor.value()?;
        push_leaf(arguments, out, slot, value);
        return Ok(());
    }
    if let Some(empty) = empty_container(cursor)? {
        arguments.push_empty(out, slot, empty);
        return Ok(());
    }
    let place = arguments.open(out, slot);
    if first == b'{' {
        push_entries(arguments, out, cursor, false, depth + 1)?;
    } else {
        push_elements(arguments, out, cursor, depth + 1)?;
    }
    out.fields.close_bytes(place);
    Ok(())
}

/// Skips `{}` or `[]`, and nothing else.
fn empty_container(cursor: &mut Cursor<'_>) -> Result<Option<Empty>, Stop> {
    let begin = cursor.at();
    let opening = cursor.next_visible()?;
    cursor.step();
    let empty = match (opening, cursor.next_visible()?) {
        (b'{', b'}') => Some(Empty::Object),
        (b'[', b']') => Some(Empty::List),
        _ => None,
    };
    match empty {
        Some(_) => cursor.step(),
        None => cursor.jump(begin),
    }
    Ok(empty)
}

/// Writes any value as a single one.
fn push_leaf(arguments: &mut Arguments, out: &mut ArgumentOutput<'_>, slot: Slot<'_>, json: &[u8]) {
    let value = match json {
        b"true" => Value::Bool(true),
        b"false" => Value::Bool(false),
        [b'"', .., b'"'] => {
            let raw = &json[1..json.len() - 1];
            Value::Text(Text { raw, is_escaped: raw.contains(&b'\\') }.decode())
        }
        [b'-' | b'0'..=b'9', ..] => number(json),
        _ => Value::Text(String::from_utf8_lossy(json)),
    };
    arguments.push(out, slot, &value);
}

/// Parses a number, as an integer if possible. A number that cannot be represented exactly stays text.
fn number(digits: &[u8]) -> Value<'_> {
    // The usual case: 18 digits always fit.
    if digits.len() <= 18 && digits.iter().all(u8::is_ascii_digit) {
        return Value::Signed(digits.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0')));
    }
    let text = String::from_utf8_lossy(digits);
    if text == "-0" {
        return Value::Float(-0.0);
    }
    if let Ok(number) = text.parse::<i64>() {
        return Value::Signed(number);
    }
    if let Ok(number) = text.parse::<u64>() {
        return Value::Unsigned(number);
    }
    let is_whole = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && (!is_whole || format!("{number:.0}") == *text) => Value::Float(number),
        _ => Value::Text(text),
    }
}
