//! Samples of profiles (`P`), as V8 writes them.

use crate::check::rule::Severity::Error;
use crate::check::rule::{Rule, rule};

pub(crate) static PROFILE_ID: Rule = rule(
    Error,
    "profile-id",
    "A profile whose id is missing, not a number, or used by another profile.",
    "PC",
    "chrome://tracing refuses the file, Perfetto loses samples",
    "gives it a new id",
);

pub(crate) static PROFILE_DATA: Rule = rule(
    Error,
    "profile-data",
    "A sample of a profile with missing or conflicting data: it precedes its profile, defines a node twice or without its parent, refers to an unknown node, or has not as many times as samples.",
    "PC",
    "Perfetto counts import errors or refuses the file, and so does chrome://tracing",
    "leaves it out",
);

pub(crate) const ALL: &[&Rule] = &[&PROFILE_ID, &PROFILE_DATA];
