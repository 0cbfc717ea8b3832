//! `man`: prints the manual pages.

mod args;
mod run;

pub use args::ManArgs as Args;
pub use run::run;
