//! Text and JSON for standard output and standard error.

pub mod changes;
pub mod contents;
pub mod json;
pub mod limits;
pub mod messages;
pub mod printer;
pub mod progress;
pub mod recorder;
pub mod table;
pub mod units;
