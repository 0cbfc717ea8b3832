//! `convert`: writes a trace in another format.

mod args;
mod json;
mod run;
mod text;

pub use args::ConvertArgs as Args;
pub use run::run;
#[cfg(unix)]
pub use run::write_plainly;
