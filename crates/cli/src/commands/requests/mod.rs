//! `requests`: shows how long requests take and what they wait for.

mod args;
mod json;
mod report;
mod run;
mod text;
mod verdict;

pub(crate) use args::RequestsArgs as Args;
pub(crate) use run::run;
