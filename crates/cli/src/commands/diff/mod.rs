//! `diff`: compares two engines.

mod args;
mod engines;
mod run;

pub(crate) use args::DiffArgs as Args;
pub(crate) use run::run;
