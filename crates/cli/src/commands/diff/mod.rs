//! `diff`: compares the runs of two sides.

mod args;
mod engines;
mod json;
mod picture;
mod report;
mod run;
mod text;

pub(crate) use args::DiffArgs as Args;
pub(crate) use json::{CauseObject, ConcernObject};
pub(crate) use run::run;
pub(crate) use text::{causes_table, change_in_percent, figure};
