//! Makes of any file one that all viewers take, and lose nothing of.
//!
//! What is wrong is found as [`check`](crate::check) finds it. Then the file is read a second time, and each event is
//! written as it is, or changed where a rule asks for it. What each rule asks for is its [`repair`](crate::check::Rule).

pub(crate) mod document;
pub(crate) mod edit;
mod numbering;
mod pass;
mod rewrite;

use crate::Opener;
use crate::check::Finding;
use crate::check::document::Watch;
use crate::check::survey::survey;
use crate::check::texts::mend_broken_texts;
use document::Document;
use ferrum_trace_format::Error;
use ferrum_trace_format::chrome::read::{Event, EventSink, Loss, Outline, Text, for_each, with_valid_numbers};
use ferrum_trace_model::Recordings;
use pass::Pass;
pub(crate) use rewrite::{metadata, micros, naming, text};
use std::cell::Cell;
use std::io::{self, Read, Write};

/// How a file is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputForm {
    /// An object with a list `traceEvents`, the form that all viewers take.
    #[default]
    Object,
    /// A list of events. It has no room for other fields.
    Array,
}

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
    /// Whether every event is written as it is, byte for byte, whatever viewers make of it. Only what is no JSON is changed: numbers
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
    /// How many nanoseconds were taken from each time. The file keeps it as field `ferrumTraceShiftNs`.
    pub shift: i64,
    /// How many events were read.
    pub n_read: u64,
    /// How many events were written: also metadata that names new threads, and ends of what had none.
    pub n_written: u64,
    /// How many fields of the object around the events were left out.
    pub n_fields_lost: u64,
    /// How many ends had arguments that were too far from their begin to be kept.
    pub n_args_lost: u64,
    /// Facts that the recorder states about the recordings in it.
    pub recordings: Recordings,
}

impl Changes {
    /// Whether nothing had to be changed.
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
        with_valid_numbers(event, |event| match mend_broken_texts(event.json) {
            Some(json) => self.document.event(&json),
            None => self.document.event(event.json),
        });
    }

    fn loss(&mut self, _: Loss) {}

    fn field(&mut self, key: Text<'_>, value: &[u8]) {
        self.document.field(key, value, false);
    }
}

/// Something that may want no more.
pub(crate) trait Stop {
    fn wants_no_more(&self) -> bool;
}

/// Finds every event of a file, in order, until the sink wants no more: nobody reads the rest of a large file for a closed pipe.
pub(crate) fn for_each_until(input: impl Read, sink: &mut (impl EventSink + Stop)) -> Result<Outline, Error> {
    let stop = Cell::new(false);
    for_each(Stoppable { input, stop: &stop }, &mut Stopping { sink, stop: &stop })
}

impl Stop for Copy<'_> {
    fn wants_no_more(&self) -> bool {
        self.document.has_failed()
    }
}

/// A sink that ends the reading when it wants no more.
struct Stopping<'a, S> {
    sink: &'a mut S,
    stop: &'a Cell<bool>,
}

impl<S: EventSink + Stop> EventSink for Stopping<'_, S> {
    fn event(&mut self, event: &Event<'_>) {
        if !self.stop.get() {
            self.sink.event(event);
            self.stop.set(self.sink.wants_no_more());
        }
    }

    fn loss(&mut self, loss: Loss) {
        self.sink.loss(loss);
    }

    fn field(&mut self, key: Text<'_>, value: &[u8]) {
        self.sink.field(key, value);
    }
}

struct Stoppable<'a, R> {
    input: R,
    stop: &'a Cell<bool>,
}

impl<R: Read> Read for Stoppable<'_, R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.stop.get() { Ok(0) } else { self.input.read(bytes) }
    }
}
