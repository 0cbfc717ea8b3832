//! Text and JSON for standard output and standard error.

pub(crate) mod arg_values;
pub(crate) mod axis;
pub(crate) mod captures;
pub(crate) mod changes;
pub(crate) mod chart_format;
pub(crate) mod contents;
pub(crate) mod json;
pub(crate) mod limits;
pub(crate) mod markdown;
pub(crate) mod messages;
pub(crate) mod page;
pub(crate) mod parts;
pub(crate) mod png;
pub(crate) mod printable;
pub(crate) mod printer;
pub(crate) mod progress;
pub(crate) mod recorder;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod units;
pub(crate) mod xml;
