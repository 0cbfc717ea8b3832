//! `steps`: shows how long an engine's steps take, and why.

mod args;
mod json;
mod run;
mod text;

pub use args::StepsArgs as Args;
pub use run::run;
