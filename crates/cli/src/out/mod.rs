//! What comes out: traces, tables, words, JSON and a bar that moves.

pub mod absent;
pub mod asyncs;
pub mod json;
pub mod leftovers;
pub mod limits;
pub mod merge;
pub mod no_match;
pub mod overview;
pub mod packed;
pub mod pending;
pub mod picture;
pub mod printer;
#[cfg(unix)]
pub mod processes;
pub mod progress;
pub mod recorder;
pub mod requests;
pub mod steps;
pub mod table;
pub mod target;
pub mod units;
pub mod words;
