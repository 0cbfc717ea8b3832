//! `repair`: writes a copy of a trace that viewers load completely.

mod args;
mod json;
mod run;
mod text;

pub use args::RepairArgs as Args;
pub use run::run;
