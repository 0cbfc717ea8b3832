//! `merge`: merges several traces into one.

mod args;
mod json;
mod run;
mod text;

pub use args::MergeArgs as Args;
pub use run::run;
#[cfg(unix)]
pub use text::{not_ranks, skew};
