//! `repair`: writes a copy of a trace that viewers load completely.

mod args;
mod json;
mod run;
mod text;

pub(crate) use args::RepairArgs as Args;
pub(crate) use run::run;
