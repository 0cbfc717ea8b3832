//! The file as a whole.

use crate::check::rule::Severity::{Error, Note};
use crate::check::rule::{Rule, rule};

pub(crate) static BOM: Rule = rule(
    Error,
    "bom",
    "The file begins with a byte order mark.",
    "PH",
    "Perfetto and HTA refuse the file",
    "leaves it out",
);

pub(crate) static CUT_CONTAINER: Rule = rule(
    Error,
    "cut-container",
    "The compressed file ends early, or is damaged.",
    "PCSFH",
    "all refuse the file",
    "writes what could be decompressed",
);

pub(crate) static CUT_EVENT: Rule = rule(
    Error,
    "cut-event",
    "The file ends in the middle of an event.",
    "CSFH",
    "all but Perfetto refuse the file, and Perfetto accepts it as an array only",
    "leaves the incomplete event out and closes the file",
);

pub(crate) static UNCLOSED_ARRAY: Rule = rule(
    Error,
    "unclosed-array",
    "The array of events has no end.",
    "FH",
    "Firefox and HTA refuse the file",
    "closes it",
);

pub(crate) static UNCLOSED_FILE: Rule = rule(
    Error,
    "unclosed-file",
    "The object around the events has no end.",
    "PCSFH",
    "all refuse the file",
    "closes it",
);

pub(crate) static STRAY_COMMA: Rule = rule(
    Error,
    "stray-comma",
    "An extra comma between events, or after the last one.",
    "CSFH",
    "all but Perfetto refuse the file",
    "leaves it out",
);

pub(crate) static MISSING_COMMA: Rule = rule(
    Error,
    "missing-comma",
    "No comma between two events.",
    "PCSFH",
    "all refuse the file, or show only a part of it",
    "adds it",
);

pub(crate) static LINES_FORM: Rule = rule(
    Error,
    "lines-form",
    "Events without an array around them.",
    "PCSFH",
    "Perfetto shows nothing, the others refuse the file",
    "puts them into an array",
);

pub(crate) static NAN: Rule = rule(
    Error,
    "nan",
    "NaN or Infinity, which JSON does not have.",
    "PCSFH",
    "all refuse the file",
    "leaves the event out",
);

pub(crate) static DAMAGE: Rule = rule(
    Error,
    "damage",
    "Bytes that are not events.",
    "PCSFH",
    "most refuse the file",
    "leaves them out and continues with the next complete event",
);

pub(crate) static UNUSABLE_FIELD: Rule = rule(
    Error,
    "unusable-field",
    "A field around the events that viewers cannot use: `systemTraceEvents` that is not a kernel trace, `displayTimeUnit` other than ns and ms, `stackFrames` without names, `metadata` that is null.",
    "PC",
    "Perfetto refuses the file for the first, chrome://tracing for all",
    "leaves it out",
);

pub(crate) static EMPTY_ARRAY: Rule = rule(
    Error,
    "empty-array",
    "An array without events.",
    "PSF",
    "all but chrome://tracing refuse the file",
    "writes the object form, which Perfetto accepts",
);

pub(crate) static NO_EVENTS: Rule = rule(
    Note,
    "no-events",
    "There are no events.",
    "SF",
    "speedscope and Firefox refuse the file",
    "nothing can be done",
);

pub(crate) static NO_SLICES: Rule = rule(
    Note,
    "no-slices",
    "There are no slices.",
    "SF",
    "speedscope has nothing to show and refuses the file; Firefox does so if there are no instants either",
    "nothing can be done",
);

pub(crate) static ARRAY_FORM: Rule =
    rule(Note, "array-form", "The events are not in an object.", "H", "HTA refuses the file", "writes the object form");

pub(crate) const ALL: &[&Rule] = &[
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
