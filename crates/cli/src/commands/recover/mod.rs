//! `recover`: writes traces from the spools that killed processes left.

mod args;
mod json;
mod run;

pub(crate) use args::RecoverArgs as Args;
pub(crate) use run::run;
