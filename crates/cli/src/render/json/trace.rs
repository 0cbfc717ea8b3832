//! Fields about a loaded trace that several commands print.

use super::{InstantObject, LossesObject, RecorderObject, TriggerObject};
use ferrum_trace_format::chrome::read::Loaded;
use serde::Serialize;

/// Losses, recorder, trigger, instants and notes of a trace.
#[derive(Serialize)]
pub(crate) struct TraceObject<'a> {
    losses: LossesObject<'a>,
    recorder: Option<RecorderObject<'a>>,
    trigger: Option<TriggerObject<'a>>,
    instants: Vec<InstantObject<'a>>,
    notes: Vec<&'a str>,
}

impl<'a> TraceObject<'a> {
    /// `missing`, the reason why there are no results, becomes the last note.
    pub(crate) fn new(loaded: &'a Loaded, notes: &'a [String], missing: Option<&'a String>) -> Self {
        Self {
            losses: (&loaded.losses).into(),
            recorder: RecorderObject::of(&loaded.recordings),
            trigger: TriggerObject::of(&loaded.recordings),
            instants: InstantObject::all(&loaded.trace),
            notes: notes.iter().chain(missing).map(String::as_str).collect(),
        }
    }
}
