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

pub use durations::DurationsObject;
pub use file::{FileObject, FormatObject};
pub use findings::{PlaceObject, RepairedObject};
pub use instants::InstantObject;
pub use losses::LossesObject;
pub use recorder::{RecorderObject, RecordingObject, TriggerObject};
pub use trace::TraceObject;

use crate::user_error::UserError;
use serde::Serialize;
use std::io::{self, Write};

/// The version of the objects.
pub const VERSION: u32 = 1;

#[derive(Serialize)]
struct ErrorObject<'a> {
    #[serde(flatten)]
    file: FileObject<'a>,
    error: String,
}

/// Writes a line for a file that could not be processed.
pub fn error(out: &mut impl Write, file: &str, error: &UserError) -> io::Result<()> {
    line(out, &ErrorObject { file: FileObject::new(file), error: error.to_string() })
}

/// Writes an object on a line of its own.
pub fn line(out: &mut impl Write, object: &impl Serialize) -> io::Result<()> {
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
