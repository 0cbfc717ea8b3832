//! `roofline`: shows FLOP, bytes and rates of operations as shares of the peaks of a device.

mod args;
mod cpu;
mod device;
mod draw;
mod findings;
mod json;
mod picture;
mod report;
mod run;
mod text;

pub(crate) use args::RooflineArgs as Args;
pub(crate) use run::run;
