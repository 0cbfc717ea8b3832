//! What comes out: traces, words, JSON and a bar that moves.

pub mod json;
pub mod pending;
pub mod progress;
pub mod target;
pub mod words;
