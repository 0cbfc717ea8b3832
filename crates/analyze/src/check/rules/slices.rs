//! Slices.

use crate::check::rule::{Rule, error, note};

pub(crate) static OVERLAP: Rule = error(
    "overlap",
    "A slice that overlaps another one of its thread in part.",
    "PCS",
    "Perfetto drops it, chrome://tracing draws one over the other, speedscope cuts or stretches them",
    "moves it to a thread beside, `NAME (2)`",
);

pub(crate) static DEEP_NESTING: Rule = error(
    "deep-nesting",
    "A slice inside of 512 others.",
    "P",
    "Perfetto draws it at the top",
    "moves it to a thread beside, `NAME (2)`",
);

pub(crate) static OUTER_NOT_FIRST: Rule = error(
    "outer-not-first",
    "A slice that begins with another one inside of it, and is written after it.",
    "PC",
    "chrome://tracing draws one over the other; for a begin and end, Perfetto counts a misplaced end",
    "writes the outer one first",
);

pub(crate) static UNORDERED_BE: Rule = error(
    "unordered-be",
    "A begin or end that is written after a later one of its thread.",
    "C",
    "chrome://tracing drops it",
    "makes complete events of the thread's begins and ends",
);

pub(crate) static UNMATCHED_END: Rule =
    error("unmatched-end", "An end without a begin.", "C", "chrome://tracing warns, all ignore it", "leaves it out");

pub(crate) static UNCLOSED_BEGIN: Rule = error(
    "unclosed-begin",
    "A begin without an end.",
    "PCS",
    "Perfetto shows a slice that never ends, the others close it at the end",
    "closes it at the end of the trace, marked by the argument `unclosed`",
);

pub(crate) static UNFINISHED: Rule = note(
    "unfinished",
    "A slice or an asynchronous event of a Perfetto trace that did not end.",
    "P",
    "Perfetto draws it up to the end of the trace",
    "closes it at the end of the trace, marked by the argument `unclosed`",
);

pub(crate) static MISNAMED_END: Rule = error(
    "misnamed-end",
    "An end whose name or category is not that of its begin, or that has no name.",
    "PCS",
    "Perfetto and speedscope ignore it, so that the slice never ends",
    "makes a complete event of the two",
);

pub(crate) static ZERO_LENGTH_PAIR: Rule = error(
    "zero-length-pair",
    "A begin and end of one time, on a thread that has complete events too.",
    "P",
    "Perfetto shows a slice that never ends, if a complete event begins or ends at that time",
    "makes a complete event of begin and end",
);

pub(crate) static ZERO_LENGTH_TIE: Rule = note(
    "zero-length-tie",
    "A complete event of no length that begins when another slice of its thread begins.",
    "S",
    "speedscope may end the wrong one of them; what `convert --to speedscope` writes is drawn right",
    "keeps it as it is",
);

pub(crate) static SHARED_START: Rule = error(
    "shared-start",
    "A begin at the time of a complete event inside of it.",
    "P",
    "Perfetto takes the complete event for the outer one, and counts a misplaced end",
    "makes a complete event of begin and end",
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
