//! Building blocks of the objects that `--json` prints: one object per line.
//!
//! The help of each command and `docs/json.md` describe the fields. Increase [`VERSION`] with a change that breaks
//! readers.

mod durations;
mod file;
mod findings;
mod instants;
mod losses;
mod recorder;
mod trace;

pub(crate) use durations::DurationsObject;
pub(crate) use file::{FileObject, FormatObject};
pub(crate) use findings::{PlaceObject, RepairedObject};
pub(crate) use instants::InstantObject;
pub(crate) use losses::LossesObject;
pub(crate) use recorder::{RecorderObject, RecordingObject, TriggerObject};
pub(crate) use trace::TraceObject;

use crate::user_error::UserError;
use ferrum_trace_analyze::is_hidden;
use serde::Serialize;
use serde_json::ser::Formatter;
use std::io::{self, Write};

/// The version of the objects.
pub(crate) const VERSION: u32 = 1;

/// Writes hidden characters of texts as escapes, since JSON may be printed on a terminal. Readers see no difference.
struct VisibleFormatter;

impl Formatter for VisibleFormatter {
    fn write_string_fragment<W: Write + ?Sized>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(is_hidden) {
            let (shown, hidden) = rest.split_at(at);
            out.write_all(shown.as_bytes())?;
            let char = hidden.chars().next().unwrap_or_default();
            for unit in char.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
            rest = &hidden[char.len_utf8()..];
        }
        out.write_all(rest.as_bytes())
    }
}

#[derive(Serialize)]
struct ErrorObject<'a> {
    #[serde(flatten)]
    file: FileObject<'a>,
    error: String,
}

/// Writes a line for a file that could not be processed.
pub(crate) fn error(out: &mut impl Write, file: &str, error: &UserError) -> io::Result<()> {
    line(out, &ErrorObject { file: FileObject::new(file), error: error.to_string() })
}

/// Writes an object on a line of its own.
pub(crate) fn line(out: &mut impl Write, object: &impl Serialize) -> io::Result<()> {
    let mut text = Vec::new();
    object.serialize(&mut serde_json::Serializer::with_formatter(&mut text, VisibleFormatter))?;
    text.push(b'\n');
    out.write_all(&text)?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_escaped() {
        let text = "a\"\\\n\u{7f}\u{202e}b\u{e0041}µ";
        let mut out = Vec::new();
        line(&mut out, &[text]).unwrap();
        assert_eq!(String::from_utf8_lossy(&out), "[\"a\\\"\\\\\\n\\u007f\\u202eb\\udb40\\udc41µ\"]\n");
        assert_eq!(serde_json::from_slice::<[String; 1]>(&out).unwrap(), [text]);
    }

    #[test]
    fn an_error_is_an_object() {
        let mut out = Vec::new();
        error(&mut out, "a", &UserError::new("a", "is wrong")).unwrap();
        assert_eq!(out, b"{\"version\":1,\"file\":\"a\",\"error\":\"a: is wrong\"}\n");
    }
}
