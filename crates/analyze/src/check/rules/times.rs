//! Times and durations.

use crate::check::rule::Severity::{Error, Note};
use crate::check::rule::{Rule, rule};

pub(crate) static MISSING_TS: Rule = rule(
    Error,
    "missing-ts",
    "An event without a usable time.",
    "PS",
    "Perfetto drops it, speedscope refuses the file",
    "leaves it out",
);

pub(crate) static MISSING_DUR: Rule = rule(
    Error,
    "missing-dur",
    "A complete event without a usable duration.",
    "PF",
    "Perfetto and Firefox drop it; Perfetto refuses the file if it is null",
    "makes it an instant, marked by the argument `unusable_dur`",
);

pub(crate) static NEGATIVE_DUR: Rule = rule(
    Error,
    "negative-dur",
    "A negative duration.",
    "PSF",
    "Perfetto and speedscope show a slice that never ends",
    "makes it an instant, marked by the argument `unusable_dur`",
);

pub(crate) static QUOTED_NUMBER: Rule = rule(
    Error,
    "quoted-number",
    "A time or duration that is a text.",
    "F",
    "Firefox refuses the file",
    "writes the number",
);

pub(crate) static NEGATIVE_TS: Rule = rule(
    Error,
    "negative-ts",
    "A time before zero.",
    "P",
    "Perfetto drops the event",
    "moves all times so that the first is 0",
);

pub(crate) static EPOCH_PRECISION: Rule = rule(
    Error,
    "epoch-precision",
    "A time with nanoseconds that is larger than 2^51 nanoseconds.",
    "PCSF",
    "viewers read times as doubles, which are only precise to a quarter of a microsecond here",
    "moves all times so that the first is 0",
);

pub(crate) static SUB_NANOSECOND: Rule = rule(
    Note,
    "sub-nanosecond",
    "A time or duration with fractions of a nanosecond.",
    "PC",
    "viewers round differently, so that slices may overlap by a nanosecond",
    "rounds to whole nanoseconds",
);

pub(crate) static LONG_SPAN: Rule = rule(
    Note,
    "long-span",
    "A time with nanoseconds that is more than 2^51 nanoseconds (26 days) after the first.",
    "PCSF",
    "viewers read times as doubles, which lose precision here",
    "keeps it as it is",
);

pub(crate) const ALL: &[&Rule] = &[
    &MISSING_TS,
    &MISSING_DUR,
    &NEGATIVE_DUR,
    &QUOTED_NUMBER,
    &NEGATIVE_TS,
    &EPOCH_PRECISION,
    &SUB_NANOSECOND,
    &LONG_SPAN,
];
