//! `record`: runs a program and writes one trace of what its processes recorded.

mod args;
mod json;
mod processes;
mod report;
mod run;
mod trace;
mod trace_summary;
mod viewer;

pub use args::RecordArgs as Args;
pub use run::run;
