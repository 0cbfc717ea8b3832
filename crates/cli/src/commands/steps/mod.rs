//! `steps`: shows how long an engine's steps take, and why.

mod args;
mod json;
mod report;
mod run;
mod text;

pub(crate) use args::StepsArgs as Args;
pub(crate) use run::run;
