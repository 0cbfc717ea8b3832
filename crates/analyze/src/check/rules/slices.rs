//! Slices.

use crate::check::rule::Severity::{Error, Note};
use crate::check::rule::{Rule, rule};

pub(crate) static OVERLAP: Rule = rule(
    Error,
    "overlap",
    "A slice that partly overlaps another slice of its thread.",
    "PCS",
    "Perfetto drops it, chrome://tracing draws one over the other, speedscope cuts or stretches them",
    "moves it to an extra thread, `NAME (2)`",
);

pub(crate) static DEEP_NESTING: Rule = rule(
    Error,
    "deep-nesting",
    "A slice inside 512 others.",
    "P",
    "Perfetto draws it at the top",
    "moves it to an extra thread, `NAME (2)`",
);

pub(crate) static OUTER_NOT_FIRST: Rule = rule(
    Error,
    "outer-not-first",
    "A slice that is written after an inner slice that begins at the same time.",
    "PC",
    "chrome://tracing draws one over the other; for a begin and end, Perfetto counts a misplaced end",
    "writes the outer one first",
);

pub(crate) static UNORDERED_BE: Rule = rule(
    Error,
    "unordered-be",
    "A begin or end that is written after a later one of its thread.",
    "C",
    "chrome://tracing drops it",
    "turns the thread's begins and ends into complete events",
);

pub(crate) static UNMATCHED_END: Rule = rule(
    Error,
    "unmatched-end",
    "An end without a begin.",
    "C",
    "chrome://tracing warns, all ignore it",
    "leaves it out",
);

pub(crate) static UNCLOSED_BEGIN: Rule = rule(
    Error,
    "unclosed-begin",
    "A begin without an end.",
    "PCS",
    "Perfetto shows a slice that never ends, the others close it at the end",
    "closes it at the end of the trace, marked by the argument `unclosed`",
);

pub(crate) static UNFINISHED: Rule = rule(
    Note,
    "unfinished",
    "A slice or an async event of a Perfetto trace that did not end.",
    "P",
    "Perfetto draws it up to the end of the trace",
    "closes it at the end of the trace, marked by the argument `unclosed`",
);

pub(crate) static MISNAMED_END: Rule = rule(
    Error,
    "misnamed-end",
    "An end whose name or category differs from its begin, or that has no name.",
    "PCS",
    "Perfetto and speedscope ignore it, so that the slice never ends",
    "turns begin and end into a complete event",
);

pub(crate) static ZERO_LENGTH_PAIR: Rule = rule(
    Error,
    "zero-length-pair",
    "A begin and an end at the same time, on a thread that also has complete events.",
    "P",
    "Perfetto shows a slice that never ends, if a complete event begins or ends at that time",
    "turns begin and end into a complete event",
);

pub(crate) static ZERO_LENGTH_TIE: Rule = rule(
    Note,
    "zero-length-tie",
    "A complete event of zero length that begins together with another slice of its thread.",
    "S",
    "speedscope may end the wrong one; the output of `convert --to speedscope` is drawn correctly",
    "keeps it as it is",
);

pub(crate) static SHARED_START: Rule = rule(
    Error,
    "shared-start",
    "A begin at the same time as a complete event inside it.",
    "P",
    "Perfetto treats the complete event as the outer one, and counts a misplaced end",
    "turns begin and end into a complete event",
);

pub(crate) const ALL: &[&Rule] = &[
    &OVERLAP,
    &DEEP_NESTING,
    &OUTER_NOT_FIRST,
    &UNORDERED_BE,
    &UNMATCHED_END,
    &UNCLOSED_BEGIN,
    &UNFINISHED,
    &MISNAMED_END,
    &ZERO_LENGTH_PAIR,
    &ZERO_LENGTH_TIE,
    &SHARED_START,
];
