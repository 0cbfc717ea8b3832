//! `diff --engines`: compares two engines by classes of operations.

mod args;
mod json;
mod markdown;
mod report;
mod run;
mod tables;
mod text;
mod wording;

pub(crate) use args::EnginesArgs;
pub(crate) use run::run;
