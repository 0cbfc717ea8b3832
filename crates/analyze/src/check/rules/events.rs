//! Single events.

use crate::check::rule::Severity::{Error, Note};
use crate::check::rule::{Rule, rule};

pub(crate) static EMPTY_EVENT: Rule = rule(
    Error,
    "empty-event",
    "An element without a phase.",
    "PCSF",
    "Perfetto refuses a file that begins with one and counts an error for others; chrome://tracing warns",
    "leaves it out",
);

pub(crate) static UNKNOWN_PHASE: Rule = rule(
    Error,
    "unknown-phase",
    "A phase that the format does not have.",
    "PC",
    "Perfetto and chrome://tracing ignore the event",
    "makes it an instant that keeps the phase as argument `ph`",
);

pub(crate) static PHASE_NOT_SHOWN: Rule = rule(
    Note,
    "phase-not-shown",
    "A phase that chrome://tracing knows and others ignore: objects, memory dumps, samples, contexts.",
    "P",
    "Perfetto and others do not show the event",
    "keeps it as it is",
);

pub(crate) static MISSING_NAME: Rule = rule(
    Error,
    "missing-name",
    "An event without a name.",
    "CF",
    "chrome://tracing and Firefox refuse the file",
    "gives it an empty name",
);

pub(crate) static NAME_NOT_TEXT: Rule = rule(
    Error,
    "name-not-text",
    "A name that is not a text.",
    "CF",
    "chrome://tracing and Firefox refuse the file",
    "writes it as a text",
);

pub(crate) static ARGS_NOT_OBJECT: Rule = rule(
    Error,
    "args-not-object",
    "Arguments that are not an object.",
    "P",
    "Perfetto drops the arguments",
    "wraps them as `{\"value\": ...}`",
);

pub(crate) static ODD_NUMBER: Rule = rule(
    Error,
    "odd-number",
    "A number that is not valid JSON, because it has leading zeros or is too large for a float.",
    "PCSFH",
    "all refuse the file for leading zeros, strict readers also for the size",
    "writes it without the zeros, or as a text",
);

pub(crate) static INSTANT_SCOPE: Rule = rule(
    Error,
    "instant-scope",
    "An instant whose scope is not t, p or g.",
    "C",
    "chrome://tracing drops it",
    "makes it an instant of its thread",
);

pub(crate) static EMPTY_ROW_NAME: Rule = rule(
    Error,
    "empty-row-name",
    "Metadata that give a process or thread an empty name, or a name that is not a text.",
    "P",
    "Perfetto counts an error",
    "leaves them out",
);

pub(crate) static MISSING_CATEGORY: Rule =
    rule(Note, "missing-category", "A slice without a category.", "H", "HTA drops it", "keeps it as it is");

pub(crate) const ALL: &[&Rule] = &[
    &EMPTY_EVENT,
    &UNKNOWN_PHASE,
    &PHASE_NOT_SHOWN,
    &MISSING_NAME,
    &NAME_NOT_TEXT,
    &ARGS_NOT_OBJECT,
    &ODD_NUMBER,
    &INSTANT_SCOPE,
    &EMPTY_ROW_NAME,
    &MISSING_CATEGORY,
];
