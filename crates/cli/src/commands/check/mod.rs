//! `check`: finds what viewers reject, lose or draw wrong.

mod args;
mod json;
mod run;
mod text;

pub(crate) use args::CheckArgs as Args;
pub(crate) use run::run;
