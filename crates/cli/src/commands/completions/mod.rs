//! `completions`: prints completion scripts for shells.

mod args;
mod run;

pub use args::CompletionsArgs as Args;
pub use run::run;
