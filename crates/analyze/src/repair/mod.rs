//! Repairs a file, so that all viewers accept it and show all of it.
//!
//! The first pass is that of [`check`](crate::check). Then the file is read a second time, and each event is written
//! unchanged, or with the changes that a rule requires, see [`Rule::repair`](crate::check::Rule).

mod pass;
mod rewriter;
mod track_numbers;

use crate::check::Finding;
use crate::check::document::Watch;
use crate::check::survey::survey;
use crate::opener::Opener;
use crate::rewrite::copy::Copy;
use crate::rewrite::document::Document;
pub use crate::rewrite::document::OutputForm;
use crate::rewrite::stoppable::for_each_until;
use ferrum_trace_format::Error;
use ferrum_trace_model::Recordings;
use pass::Pass;
use std::io::Write;

/// Options of [`repair()`].
#[derive(Clone, Debug, Default)]
pub struct RepairOptions {
    /// Shape of the output document.
    pub form: OutputForm,
}

/// Options of [`chrome`].
#[derive(Clone, Debug, Default)]
pub struct ChromeOptions {
    /// Shape of the output document.
    pub form: OutputForm,
    /// True if every event is written byte for byte, regardless of viewers. Only invalid JSON is changed: numbers that
    /// JSON does not have, control bytes, bytes that are not UTF-8, and halves of surrogate pairs.
    pub as_is: bool,
}

/// Changes that were made.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Repaired findings by rule, with their number and first locations.
    pub repaired: Vec<Finding>,
    /// Events that were left out, by rule. They are also among the repaired findings.
    pub left_out: Vec<Finding>,
    /// Nanoseconds that were subtracted from each time. The file has it as field `ferrumTraceShiftNs`.
    pub shift: i64,
    /// Number of events that were read.
    pub n_read: u64,
    /// Number of events that were written, including metadata that name new threads, and ends that were added.
    pub n_written: u64,
    /// Number of fields of the object around the events that were left out.
    pub n_fields_lost: u64,
    /// Number of ends whose arguments were too far from their begin to be kept.
    pub n_args_lost: u64,
    /// Metadata that the recorder wrote about the recordings.
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
/// Returns an error if the file cannot be read or written, or is not a trace.
pub fn repair(open: Opener<'_>, out: &mut dyn Write, options: &RepairOptions) -> Result<Changes, Error> {
    let surveyed = survey(open)?;
    let recordings = surveyed.outline.recordings.clone();
    let mut pass = Pass::new(surveyed, Document::new(out, options.form));
    for_each_until(Watch::new(open()?), &mut pass)?;
    let changes = pass.finish().map_err(Error::writing)?;
    Ok(Changes { recordings, ..changes })
}

/// Writes Chrome JSON that viewers accept, or the same events in another shape of document.
///
/// # Errors
///
/// Returns an error if the file cannot be read or written, or is not a trace.
pub fn chrome(open: Opener<'_>, out: &mut dyn Write, options: &ChromeOptions) -> Result<Changes, Error> {
    if !options.as_is {
        return repair(open, out, &RepairOptions { form: options.form });
    }
    let mut copy = Copy::new(Document::new(out, options.form));
    let recordings = for_each_until(Watch::new(open()?), &mut copy)?.recordings;
    let Copy { document, n_read } = copy;
    let (n_written, n_fields_lost) = (document.n_events, document.n_fields_lost);
    document.finish().map_err(Error::writing)?;
    Ok(Changes { n_read, n_written, n_fields_lost, recordings, ..Changes::default() })
}
