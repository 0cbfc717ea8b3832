//! Processes and threads.

use crate::check::rule::Severity::Error;
use crate::check::rule::{Rule, rule};

pub(crate) static MISSING_ID: Rule = rule(
    Error,
    "missing-id",
    "An event without `pid`, or without `tid` where it belongs to a thread.",
    "CS",
    "chrome://tracing and speedscope refuse the file",
    "gives it a new number",
);

pub(crate) static TEXT_ID: Rule = rule(
    Error,
    "text-id",
    "A `pid` or `tid` that is a text.",
    "S",
    "speedscope refuses the file; Perfetto assigns a number",
    "numbers it, and keeps the text as the name",
);

pub(crate) static MIXED_ID: Rule = rule(
    Error,
    "mixed-id",
    "A thread or process whose id is a number in some events and a text in others.",
    "PS",
    "Perfetto shows two, speedscope refuses the file",
    "writes the number everywhere",
);

pub(crate) static ID_RANGE: Rule = rule(
    Error,
    "id-range",
    "A `pid` or `tid` that is not an integer from 0 to 2^31-1.",
    "P",
    "Perfetto reads all such ids as 0, so that threads merge and slices are dropped",
    "numbers it, and keeps the old id as the name",
);

pub(crate) static TID_ZERO: Rule = rule(
    Error,
    "tid-zero",
    "Thread 0 of a process that is not process 0.",
    "P",
    "Perfetto merges it with the thread whose tid is the pid, so that slices of both may be dropped",
    "numbers it, and keeps the old id as the name",
);

pub(crate) const ALL: &[&Rule] = &[&MISSING_ID, &TEXT_ID, &MIXED_ID, &ID_RANGE, &TID_ZERO];
