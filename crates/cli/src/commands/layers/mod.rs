//! `layers`: shows time by layer of the model and category.

mod args;
mod chart;
mod json;
mod run;

pub use args::LayersArgs as Args;
pub use run::run;
