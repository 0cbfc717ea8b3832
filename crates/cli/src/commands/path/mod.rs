//! `path`: shows the critical path of a step, a request, a range of time or a whole trace.

mod args;
mod json;
mod report;
mod run;
mod text;
mod trace_output;

pub(crate) use args::PathArgs as Args;
pub(crate) use run::run;
