//! What was found, as JSON: one object a line and file.
//!
//! The fields are told in the help of each command and in `docs/json.md`. A change that breaks a reader raises [`VERSION`].

mod findings;
mod instants;
mod losses;
mod recorder;

pub use findings::{PlaceObject, RepairedObject};
pub use instants::InstantObject;
pub use losses::LossesObject;
pub use recorder::{RecorderObject, RecordingObject, TriggerObject};

use crate::user_error::UserError;
use serde::Serialize;
use std::io::{self, Write};

/// The version of the objects.
pub const VERSION: u32 = 1;

#[derive(Serialize)]
struct ErrorObject<'a> {
    version: u32,
    file: &'a str,
    error: String,
}

/// Writes a line for a file that could not be worked on.
pub fn error(out: &mut impl Write, file: &str, error: &UserError) -> io::Result<()> {
    line(out, &ErrorObject { version: VERSION, file, error: error.to_string() })
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
    fn trouble_is_an_object_too() {
        let mut out = Vec::new();
        error(&mut out, "a", &UserError::new("a", "is wrong")).unwrap();
        assert_eq!(out, b"{\"version\":1,\"file\":\"a\",\"error\":\"a: is wrong\"}\n");
    }
}
