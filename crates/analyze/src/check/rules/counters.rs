//! Counters.

use crate::check::rule::{Rule, error};

/// A counter without values.
pub static COUNTER_WITHOUT_ARGS: Rule = error(
    "counter-without-args",
    "A counter without values.",
    "PC",
    "Perfetto and chrome://tracing drop it",
    "leaves it out",
);

/// A value of a counter that is no number.
pub static COUNTER_NOT_NUMBER: Rule = error(
    "counter-not-number",
    "A value of a counter that is no number.",
    "P",
    "Perfetto drops it",
    "writes the number if it is one in quotes or a truth value, else leaves the value out",
);

/// All of them.
pub const ALL: &[&Rule] = &[&COUNTER_WITHOUT_ARGS, &COUNTER_NOT_NUMBER];
