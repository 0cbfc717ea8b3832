//! `completions`: prints completion scripts for shells.

mod args;
mod run;

pub(crate) use args::CompletionsArgs as Args;
pub(crate) use run::run;
