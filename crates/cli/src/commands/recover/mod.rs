//! `recover`: writes traces from the spools that killed processes left.

mod args;
mod json;
mod run;

pub use args::RecoverArgs as Args;
pub use run::run;
