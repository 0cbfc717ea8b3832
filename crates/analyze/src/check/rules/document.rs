//! The file as a whole.

use crate::check::rule::{Rule, error, note};

/// The file begins with a byte order mark.
pub static BOM: Rule =
    error("bom", "The file begins with a byte order mark.", "PH", "Perfetto and HTA refuse the file", "leaves it out");

/// The compressed file ends early, or is damaged.
pub static CUT_CONTAINER: Rule = error(
    "cut-container",
    "The compressed file ends early, or is damaged.",
    "PCSFH",
    "all refuse the file",
    "writes what could be decompressed",
);

/// The file ends in the middle of an event.
pub static CUT_EVENT: Rule = error(
    "cut-event",
    "The file ends in the middle of an event.",
    "CSFH",
    "all but Perfetto refuse the file, and Perfetto takes it in the array form only",
    "leaves the half event out and closes the file",
);

/// The array of events has no end.
pub static UNCLOSED_ARRAY: Rule =
    error("unclosed-array", "The array of events has no end.", "FH", "Firefox and HTA refuse the file", "closes it");

/// The object around the events has no end.
pub static UNCLOSED_FILE: Rule =
    error("unclosed-file", "The object around the events has no end.", "PCSFH", "all refuse the file", "closes it");

/// A comma too many between events, or after the last one.
pub static STRAY_COMMA: Rule = error(
    "stray-comma",
    "A comma too many between events, or after the last one.",
    "CSFH",
    "all but Perfetto refuse the file",
    "leaves it out",
);

/// No comma between two events.
pub static MISSING_COMMA: Rule = error(
    "missing-comma",
    "No comma between two events.",
    "PCSFH",
    "all refuse the file, or show only a part of it",
    "adds it",
);

/// Events one after the other, without an array around them.
pub static LINES_FORM: Rule = error(
    "lines-form",
    "Events one after the other, without an array around them.",
    "PCSFH",
    "Perfetto shows nothing, the others refuse the file",
    "puts them into an array",
);

/// NaN or Infinity, which JSON does not have.
pub static NAN: Rule =
    error("nan", "NaN or Infinity, which JSON does not have.", "PCSFH", "all refuse the file", "leaves the event out");

/// Bytes that are no events.
pub static DAMAGE: Rule = error(
    "damage",
    "Bytes that are no events.",
    "PCSFH",
    "most refuse the file",
    "leaves them out and goes on with the next whole event",
);

/// A field around the events that viewers read and cannot use.
pub static UNUSABLE_FIELD: Rule = error(
    "unusable-field",
    "A field around the events that viewers read and cannot use: `systemTraceEvents` that is no text of the kernel's tracer, `displayTimeUnit` other than ns and ms, `stackFrames` without names, `metadata` that is null.",
    "PC",
    "Perfetto refuses the file for the first, chrome://tracing for all",
    "leaves it out",
);

/// An array without events.
pub static EMPTY_ARRAY: Rule = error(
    "empty-array",
    "An array without events.",
    "PSF",
    "all but chrome://tracing refuse the file",
    "writes the object form, which Perfetto takes",
);

/// There are no events.
pub static NO_EVENTS: Rule =
    note("no-events", "There are no events.", "SF", "speedscope and Firefox refuse the file", "nothing can be done");

/// There are no slices.
pub static NO_SLICES: Rule = note(
    "no-slices",
    "There are no slices.",
    "SF",
    "speedscope has nothing to show and refuses the file; Firefox does so if there are no instants either",
    "nothing can be done",
);

/// The events are not in an object.
pub static ARRAY_FORM: Rule =
    note("array-form", "The events are not in an object.", "H", "HTA refuses the file", "writes the object form");

/// All of them.
pub const ALL: &[&Rule] = &[
    &BOM,
    &CUT_CONTAINER,
    &CUT_EVENT,
    &UNCLOSED_ARRAY,
    &UNCLOSED_FILE,
    &STRAY_COMMA,
    &MISSING_COMMA,
    &LINES_FORM,
    &NAN,
    &DAMAGE,
    &UNUSABLE_FIELD,
    &EMPTY_ARRAY,
    &NO_EVENTS,
    &NO_SLICES,
    &ARRAY_FORM,
];
