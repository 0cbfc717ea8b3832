//! `man`: prints the manual pages.

mod args;
mod run;

pub(crate) use args::ManArgs as Args;
pub(crate) use run::run;
