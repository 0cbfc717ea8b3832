//! `gate`: decides whether a change stays within a budget.

mod args;
mod budget;
mod decision;
mod inputs;
mod json;
mod junit;
mod limit;
mod outputs;
mod report;
mod run;
mod series;
mod text;

pub(crate) use args::GateArgs as Args;
pub(crate) use run::run;
