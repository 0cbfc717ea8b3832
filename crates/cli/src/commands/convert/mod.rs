//! `convert`: writes a trace in another format.

mod args;
mod json;
mod report;
mod run;
mod text;

pub(crate) use args::ConvertArgs as Args;
pub(crate) use run::run;
#[cfg(unix)]
pub(crate) use run::write_plainly;
