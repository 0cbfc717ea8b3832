//! `merge`: merges several traces into one.

mod args;
mod json;
mod run;
mod text;

pub(crate) use args::MergeArgs as Args;
pub(crate) use run::run;
#[cfg(unix)]
pub(crate) use text::{not_ranks, skew};
