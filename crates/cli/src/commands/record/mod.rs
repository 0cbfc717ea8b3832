//! `record`: runs a program and writes one trace of what its processes recorded.

mod args;
mod json;
mod processes;
mod report;
mod run;
mod trace_summary;
mod viewer;
mod write_trace;

pub(crate) use args::RecordArgs as Args;
pub(crate) use run::run;
