//! `baseline`: stores the figures of runs, for later comparisons.

mod args;
mod json;
mod report;
mod run;
mod save;
mod text;

pub(crate) use args::BaselineArgs as Args;
pub(crate) use run::run;
