//! `summary`: shows where the time went.

mod args;
mod asyncs;
mod json;
mod labels;
mod no_match;
mod overview;
mod report;
mod run;
mod text;

pub(crate) use args::SummaryArgs as Args;
pub(crate) use run::run;
#[cfg(unix)]
pub(crate) use {json::SummaryObject, report::SummaryReport, text::text};
