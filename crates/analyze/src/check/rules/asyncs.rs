//! Async events.

use crate::check::rule::Severity::Error;
use crate::check::rule::{Rule, rule};

pub(crate) static ASYNC_WITHOUT_ID: Rule = rule(
    Error,
    "async-without-id",
    "An async event without an id.",
    "PC",
    "Perfetto and chrome://tracing drop it",
    "leaves it out",
);

pub(crate) static LEGACY_ASYNC: Rule = rule(
    Error,
    "legacy-async",
    "Legacy async events (S, T, p, F).",
    "PF",
    "Perfetto and Firefox ignore them",
    "writes them as b, n, e",
);

pub(crate) static UNMATCHED_ASYNC: Rule = rule(
    Error,
    "unmatched-async",
    "An async begin without an end of the same name, or an end without a begin.",
    "PC",
    "Perfetto shows a slice that never ends, chrome://tracing warns; ends are ignored",
    "ends it at the end of the trace, marked by the argument `unclosed`; leaves the end out",
);

pub(crate) static CROSSED_ASYNC: Rule = rule(
    Error,
    "crossed-async",
    "An async slice that partly overlaps another one with the same id.",
    "PC",
    "Perfetto counts a misplaced end, and closes the wrong one",
    "gives it a new id",
);

pub(crate) static SHARED_ASYNC_ID: Rule = rule(
    Error,
    "shared-async-id",
    "Async slices of several processes that share an id.",
    "P",
    "Perfetto treats ids as global, and nests one slice in the other",
    "makes the id local to its process",
);

pub(crate) const ALL: &[&Rule] =
    &[&ASYNC_WITHOUT_ID, &LEGACY_ASYNC, &UNMATCHED_ASYNC, &CROSSED_ASYNC, &SHARED_ASYNC_ID];
