//! `layers`: shows time by layer of the model and category.

mod args;
mod chart;
mod draw;
mod json;
mod report;
mod run;
mod text;

pub(crate) use args::LayersArgs as Args;
pub(crate) use run::run;
