//! Makes of any file one that all viewers take, and lose nothing of.
//!
//! What is wrong is found as [`check`](crate::check) finds it. Then the file is read a second time, and each event is
//! written as it is, or changed where a rule asks for it. What each rule asks for is its [`repair`](crate::check::Rule).

mod pass;
mod rewriter;
mod track_numbers;

use crate::Opener;
use crate::check::Finding;
use crate::check::document::Watch;
use crate::check::survey::survey;
use crate::check::texts::mend_broken_texts;
use crate::rewrite::document::Document;
pub use crate::rewrite::document::OutputForm;
use crate::rewrite::stoppable::{Stop, for_each_until};
use ferrum_trace_format::Error;
use ferrum_trace_format::chrome::read::{Event, EventSink, Loss, Text, with_sound_numbers};
use ferrum_trace_model::Recordings;
use pass::Pass;
use std::io::Write;

/// How to repair.
#[derive(Clone, Debug, Default)]
pub struct RepairOptions {
    /// How the file is written.
    pub form: OutputForm,
}

/// How to write Chrome JSON.
#[derive(Clone, Debug, Default)]
pub struct ChromeOptions {
    /// How the file is written.
    pub form: OutputForm,
    /// True if every event is written as it is, byte for byte, whatever viewers make of it. Only what is no JSON is changed: numbers
    /// that JSON does not have, control bytes and bytes that are no UTF-8 in texts, halves of surrogate pairs.
    pub as_is: bool,
}

/// What was changed.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// What was put right, by rule: how often, and where first.
    pub repaired: Vec<Finding>,
    /// Events that were left out, by the rule that asked for it. They are among the repaired too.
    pub left_out: Vec<Finding>,
    /// Number of nanoseconds that were taken from each time. The file keeps it as field `ferrumTraceShiftNs`.
    pub shift: i64,
    /// Number of events that were read.
    pub n_read: u64,
    /// Number of events that were written: also metadata that names new threads, and ends of what had none.
    pub n_written: u64,
    /// How many fields of the object around the events were left out.
    pub n_fields_lost: u64,
    /// Number of ends had arguments that that were too far from their begin to be kept.
    pub n_args_lost: u64,
    /// Facts that the recorder states about the recordings in it.
    pub recordings: Recordings,
}

impl Changes {
    /// Returns true if nothing had to be changed.
    pub fn is_empty(&self) -> bool {
        self.repaired.is_empty() && self.n_fields_lost == 0
    }
}

/// Writes a file on which [`check`](crate::check::check()) finds no error.
///
/// # Errors
///
/// If the file cannot be read or written, or is no trace.
pub fn repair(open: Opener<'_>, out: &mut dyn Write, options: &RepairOptions) -> Result<Changes, Error> {
    let surveyed = survey(open)?;
    let recordings = surveyed.outline.recordings.clone();
    let mut pass = Pass::new(surveyed, Document::new(out, options.form));
    for_each_until(Watch::new(open()?), &mut pass)?;
    let changes = pass.finish().map_err(Error::writing)?;
    Ok(Changes { recordings, ..changes })
}

/// Writes Chrome JSON that viewers take, or the very same events in another form.
///
/// # Errors
///
/// If the file cannot be read or written, or is no trace.
pub fn chrome(open: Opener<'_>, out: &mut dyn Write, options: &ChromeOptions) -> Result<Changes, Error> {
    if !options.as_is {
        return repair(open, out, &RepairOptions { form: options.form });
    }
    let mut copy = Copy { document: Document::new(out, options.form), changes: Changes::default() };
    let recordings = for_each_until(Watch::new(open()?), &mut copy)?.recordings;
    let Copy { document, mut changes } = copy;
    (changes.n_written, changes.n_fields_lost) = (document.n_events, document.n_fields_lost);
    document.finish().map_err(Error::writing)?;
    Ok(Changes { recordings, ..changes })
}

/// Takes every event as it is, if it is JSON.
struct Copy<'w> {
    document: Document<'w>,
    changes: Changes,
}

impl EventSink for Copy<'_> {
    fn event(&mut self, event: &Event<'_>) {
        self.changes.n_read += 1;
        with_sound_numbers(event, |event| match mend_broken_texts(event.json) {
            Some(json) => self.document.event(&json),
            None => self.document.event(event.json),
        });
    }

    fn loss(&mut self, _: Loss) {}

    fn field(&mut self, key: Text<'_>, value: &[u8]) {
        self.document.field(key, value, false);
    }
}

impl Stop for Copy<'_> {
    fn wants_no_more(&self) -> bool {
        self.document.has_failed()
    }
}
