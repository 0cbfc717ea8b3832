//! `check`: finds what viewers reject, lose or draw wrong.

mod args;
mod json;
mod run;
mod text;

pub use args::CheckArgs as Args;
pub use run::run;
