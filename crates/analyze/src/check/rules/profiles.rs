//! Samples of profiles (`P`), as V8 writes them.

use crate::check::rule::{Rule, error};

pub(crate) static PROFILE_ID: Rule = error(
    "profile-id",
    "A profile without an id of its own: none, no number, or that of another profile.",
    "PC",
    "chrome://tracing refuses the file, Perfetto loses samples",
    "gives it an id of its own",
);

pub(crate) static PROFILE_DATA: Rule = error(
    "profile-data",
    "A sample of a profile with missing or conflicting data: before its profile begins, a node there twice or without its parent, an unknown node, times of another number than samples.",
    "PC",
    "Perfetto counts import errors or refuses the file, and so does chrome://tracing",
    "leaves it out",
);

pub(crate) const ALL: &[&Rule] = &[&PROFILE_ID, &PROFILE_DATA];
