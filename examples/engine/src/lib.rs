//! A small serving engine for Llama models on the CPU, recorded.
//!
//! The engine is real, only small: it loads a checkpoint, batches requests as they come, keeps their keys and values in
//! blocks, and takes the blocks of the latest request away when there are none left. Its probes are where an engine's author
//! would put them: look for `llm::`.

#![allow(missing_docs, reason = "a program; what needs words has them")]

pub mod batch;
pub mod cache;
pub mod checkpoint;
pub mod clients;
pub mod config;
pub mod engine;
pub mod flags;
pub mod layer;
pub mod linear;
pub mod model;
pub mod recording;
pub mod report;
pub mod rope;
pub mod sampler;
pub mod scheduler;
pub mod sequence;
pub mod stats;
pub mod table;
pub mod watch;
