//! Converts debug annotations to JSON.

use super::interned::Interned;
use crate::chrome::read::Cursor;
use crate::chrome::{push_args_value, push_text};
use crate::perfetto::field::{annotation, nested};
use crate::perfetto::wire::{Broken, Fields, Payload};
use ferrum_trace_model::Value;

/// Maximum depth; deeper values are replaced by a text.
const DEPTH_MAX: usize = 100;
const TOO_DEEP: &str = "(too deep)";

/// A value as far as it has been read. Entries and elements are read when they are written.
enum Found<'a> {
    Nothing,
    One(Value<'a>),
    Json(&'a [u8]),
    Nested(&'a [u8]),
    Dict,
    List,
}

/// Writes `"name":value`.
pub(crate) fn push_entry(out: &mut Vec<u8>, data: &[u8], interned: &Interned, depth: usize) -> Result<(), Broken> {
    let mut name = None;
    let mut fields = Fields::new(data);
    while let Some((field, payload)) = fields.next()? {
        match field {
            annotation::NAME => name = Some(String::from_utf8_lossy(payload.bytes()).into_owned()),
            annotation::NAME_IID => name = interned.annotation_name(payload.number()).map(str::to_owned),
            _ => {}
        }
    }
    push_text(out, name.as_deref().unwrap_or("(unnamed)"));
    out.push(b':');
    push_value(out, data, interned, depth)
}

fn push_value(out: &mut Vec<u8>, data: &[u8], interned: &Interned, depth: usize) -> Result<(), Broken> {
    if depth > DEPTH_MAX {
        push_text(out, TOO_DEEP);
        return Ok(());
    }
    match find(data, interned)? {
        Found::Nothing => out.extend_from_slice(b"null"),
        Found::One(value) => push_args_value(out, &value),
        Found::Json(json) => push_json(out, json),
        Found::Nested(data) => push_nested(out, data, depth + 1)?,
        Found::Dict => {
            let entry = |out: &mut Vec<u8>, data: &[u8]| push_entry(out, data, interned, depth + 1);
            push_all(out, data, annotation::DICT_ENTRIES, [b'{', b'}'], entry)?;
        }
        Found::List => {
            let element = |out: &mut Vec<u8>, data: &[u8]| push_value(out, data, interned, depth + 1);
            push_all(out, data, annotation::ARRAY_VALUES, [b'[', b']'], element)?;
        }
    }
    Ok(())
}

fn find<'a>(data: &'a [u8], interned: &'a Interned) -> Result<Found<'a>, Broken> {
    let mut found = Found::Nothing;
    let mut fields = Fields::new(data);
    while let Some((field, payload)) = fields.next()? {
        found = match field {
            annotation::BOOL => Found::One(Value::Bool(payload.number() != 0)),
            annotation::UINT => Found::One(Value::Unsigned(payload.number())),
            annotation::INT => Found::One(Value::Signed(payload.number() as i64)),
            annotation::DOUBLE => Found::One(Value::Float(payload.float())),
            annotation::STRING => Found::One(text(payload)),
            annotation::STRING_IID => {
                let known = interned.annotation_string(payload.number());
                Found::One(Value::Text(known.unwrap_or("(undefined)").into()))
            }
            annotation::POINTER => Found::One(Value::Text(format!("{:#x}", payload.number()).into())),
            annotation::LEGACY_JSON => Found::Json(payload.bytes()),
            annotation::NESTED => Found::Nested(payload.bytes()),
            annotation::DICT_ENTRIES => Found::Dict,
            annotation::ARRAY_VALUES => Found::List,
            _ => continue,
        };
    }
    Ok(found)
}

fn text(payload: Payload<'_>) -> Value<'_> {
    Value::Text(String::from_utf8_lossy(payload.bytes()))
}

/// Writes all fields with the given number, separated by commas.
fn push_all(
    out: &mut Vec<u8>,
    data: &[u8],
    wanted: u32,
    brackets: [u8; 2],
    mut push: impl FnMut(&mut Vec<u8>, &[u8]) -> Result<(), Broken>,
) -> Result<(), Broken> {
    out.push(brackets[0]);
    let mut n = 0;
    let mut fields = Fields::new(data);
    while let Some((field, payload)) = fields.next()? {
        if field != wanted {
            continue;
        }
        if n > 0 {
            out.push(b',');
        }
        n += 1;
        push(out, payload.bytes())?;
    }
    out.push(brackets[1]);
    Ok(())
}

/// Writes JSON from a producer: unchanged if it is valid, otherwise as a text.
fn push_json(out: &mut Vec<u8>, json: &[u8]) {
    // The space marks the end of a number.
    let closed = [json.trim_ascii(), b" "].concat();
    let mut cursor = Cursor::new(&closed, 0);
    let is_whole = cursor.skip_value().is_ok() && cursor.at() + 1 == closed.len();
    match std::str::from_utf8(json) {
        Ok(_) if is_whole && !json.contains(&b'\n') => out.extend_from_slice(json.trim_ascii()),
        _ => push_text(out, &String::from_utf8_lossy(json)),
    }
}

fn push_nested(out: &mut Vec<u8>, data: &[u8], depth: usize) -> Result<(), Broken> {
    if depth > DEPTH_MAX {
        push_text(out, TOO_DEEP);
        return Ok(());
    }
    let mut kind = 0;
    let mut value = None;
    let mut keys = Vec::new();
    let mut fields = Fields::new(data);
    while let Some((field, payload)) = fields.next()? {
        match field {
            nested::TYPE => kind = payload.number(),
            nested::DICT_KEYS => keys.push(payload.bytes()),
            nested::INT => value = Some(Value::Signed(payload.number() as i64)),
            nested::DOUBLE => value = Some(Value::Float(payload.float())),
            nested::BOOL => value = Some(Value::Bool(payload.number() != 0)),
            nested::STRING => value = Some(text(payload)),
            _ => {}
        }
    }
    match (kind, value) {
        (nested::DICT, _) => {
            let mut keys = keys.into_iter();
            push_all(out, data, nested::DICT_VALUES, [b'{', b'}'], |out, data| {
                push_text(out, &String::from_utf8_lossy(keys.next().unwrap_or_default()));
                out.push(b':');
                push_nested(out, data, depth + 1)
            })
        }
        (nested::ARRAY, _) => {
            push_all(out, data, nested::ARRAY_VALUES, [b'[', b']'], |out, data| push_nested(out, data, depth + 1))
        }
        (_, Some(value)) => {
            push_args_value(out, &value);
            Ok(())
        }
        (_, None) => {
            out.extend_from_slice(b"null");
            Ok(())
        }
    }
}
