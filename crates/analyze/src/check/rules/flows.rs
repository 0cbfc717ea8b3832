//! Flows.

use crate::check::rule::Severity::Error;
use crate::check::rule::{Rule, rule};

pub(crate) static FLOW_WITHOUT_ID: Rule =
    rule(Error, "flow-without-id", "A flow without an id.", "PC", "no arrow is drawn", "leaves it out");

pub(crate) static FLOW_ID_TEXT: Rule = rule(
    Error,
    "flow-id-text",
    "A flow whose id is neither a number nor hexadecimal.",
    "P",
    "Perfetto draws no arrow",
    "numbers it",
);

pub(crate) static DUPLICATE_FLOW: Rule = rule(
    Error,
    "duplicate-flow",
    "A flow that begins twice with the same id.",
    "PC",
    "Perfetto draws all arrows from the first begin",
    "gives the later one a new id",
);

pub(crate) static FLOW_WITHOUT_START: Rule = rule(
    Error,
    "flow-without-start",
    "A step or end of a flow without a begin before it in time.",
    "PC",
    "no arrow is drawn",
    "leaves it out",
);

pub(crate) static FLOW_OUTSIDE_SLICE: Rule = rule(
    Error,
    "flow-outside-slice",
    "An event of a flow that lies in no slice of its thread.",
    "PC",
    "no arrow is drawn",
    "leaves it out, and the rest of the flow if it is its begin",
);

pub(crate) static FLOW_WITHOUT_BP: Rule = rule(
    Error,
    "flow-without-bp",
    "The end of a flow in a slice, without `\"bp\":\"e\"`.",
    "PC",
    "Perfetto and chrome://tracing draw the arrow to the slice that begins next",
    "adds it",
);

pub(crate) static FLOW_FAN_OUT: Rule = rule(
    Error,
    "flow-fan-out",
    "A step or end of a flow after its end.",
    "C",
    "chrome://tracing draws only the arrow to the first end",
    "gives it a new id and its own begin",
);

pub(crate) const ALL: &[&Rule] = &[
    &FLOW_WITHOUT_ID,
    &FLOW_ID_TEXT,
    &DUPLICATE_FLOW,
    &FLOW_WITHOUT_START,
    &FLOW_OUTSIDE_SLICE,
    &FLOW_WITHOUT_BP,
    &FLOW_FAN_OUT,
];
