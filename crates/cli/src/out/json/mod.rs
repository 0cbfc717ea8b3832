//! What was found, as JSON: one object a line and file.
//!
//! The fields are told in the help of each command and in `docs/json.md`. A change that breaks a reader raises [`VERSION`].

mod check;
mod convert;
mod instants;
mod layers;
mod losses;
mod merge;
#[cfg(unix)]
mod record;
mod recorder;
mod recover;
mod repair;
mod requests;
mod steps;
mod summary;

pub use check::CheckObject;
pub use convert::ConvertObject;
pub use instants::InstantObject;
pub use layers::LayersObject;
pub use losses::LossesObject;
pub use merge::MergeObject;
#[cfg(unix)]
pub use record::{RecordObject, Told};
pub use recorder::{RecorderObject, RecordingObject, TriggerObject};
pub use recover::recovered;
pub use repair::RepairObject;
pub use requests::RequestsObject;
pub use steps::StepsObject;
pub use summary::SummaryObject;

use crate::trouble::Trouble;
use serde::Serialize;
use std::io::{self, Write};

/// The version of the objects.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct TroubleObject<'a> {
    version: u32,
    file: &'a str,
    error: String,
}

/// Writes a line for a file that could not be worked on.
pub fn trouble(out: &mut impl Write, file: &str, trouble: &Trouble) -> io::Result<()> {
    line(out, &TroubleObject { version: VERSION, file, error: trouble.to_string() })
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
        trouble(&mut out, "a", &Trouble::new("a", "is wrong")).unwrap();
        assert_eq!(out, b"{\"version\":1,\"file\":\"a\",\"error\":\"a: is wrong\"}\n");
    }
}
