//! Counters.

use crate::check::rule::Severity::Error;
use crate::check::rule::{Rule, rule};

pub(crate) static COUNTER_WITHOUT_ARGS: Rule = rule(
    Error,
    "counter-without-args",
    "A counter without values.",
    "PC",
    "Perfetto and chrome://tracing drop it",
    "leaves it out",
);

pub(crate) static COUNTER_NOT_NUMBER: Rule = rule(
    Error,
    "counter-not-number",
    "A value of a counter that is not a number.",
    "P",
    "Perfetto drops it",
    "writes a quoted number or a boolean as a number, else leaves the value out",
);

pub(crate) const ALL: &[&Rule] = &[&COUNTER_WITHOUT_ARGS, &COUNTER_NOT_NUMBER];
