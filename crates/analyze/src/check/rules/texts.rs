//! Texts.

use crate::check::rule::Severity::Error;
use crate::check::rule::{Rule, rule};

pub(crate) static ESCAPE: Rule = rule(
    Error,
    "escape",
    "An unnecessary escape, such as `\\u00e9` for é.",
    "P",
    "Perfetto shows it as typed",
    "writes the character itself",
);

pub(crate) static SURROGATE_PAIR: Rule = rule(
    Error,
    "surrogate-pair",
    "A surrogate pair, or half of one, as escapes.",
    "P",
    "Perfetto refuses the file if the text also contains an escaped quote; else it shows the escapes as typed",
    "writes the character itself",
);

pub(crate) static FINAL_BACKSLASH: Rule = rule(
    Error,
    "final-backslash",
    "A text that ends with an escaped backslash.",
    "P",
    "Perfetto reads the quote after it as escaped, and loses the file",
    "spells it `\\u005c`",
);

pub(crate) static NUL: Rule =
    rule(Error, "nul", "A NUL character in a text.", "P", "Perfetto cuts the text there", "writes `␀` (U+2400)");

pub(crate) static CONTROL_BYTE: Rule = rule(
    Error,
    "control-byte",
    "An unescaped control byte in a text.",
    "CSF",
    "all but Perfetto refuse the file",
    "escapes it",
);

pub(crate) static INVALID_UTF8: Rule = rule(
    Error,
    "invalid-utf8",
    "Bytes that are not UTF-8.",
    "F",
    "Firefox refuses the file, the others show U+FFFD",
    "writes U+FFFD",
);

pub(crate) const ALL: &[&Rule] = &[&ESCAPE, &SURROGATE_PAIR, &FINAL_BACKSLASH, &NUL, &CONTROL_BYTE, &INVALID_UTF8];
