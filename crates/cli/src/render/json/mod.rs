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
use serde::Serialize;
use std::io::{self, Write};

/// The version of the objects.
pub(crate) const VERSION: u32 = 1;

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
    let mut text = serde_json::to_vec(object)?;
    text.push(b'\n');
    out.write_all(&text)?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_an_object() {
        let mut out = Vec::new();
        error(&mut out, "a", &UserError::new("a", "is wrong")).unwrap();
        assert_eq!(out, b"{\"version\":1,\"file\":\"a\",\"error\":\"a: is wrong\"}\n");
    }
}
