//! A small serving engine for Llama models on the CPU, recorded.
//!
//! The engine is small but real: it loads a checkpoint, batches requests as they arrive, keeps their keys and values in
//! blocks, and preempts the latest request if no blocks are left. Its probes are in the places where an engine's author
//! would put them: search for `llm::`.

#![allow(missing_docs, reason = "a program, not a library")]

pub mod batch;
pub mod cache;
pub mod checkpoint;
pub mod clients;
pub mod config;
pub mod engine;
pub mod flags;
pub mod flop;
pub mod layer;
pub mod linear;
pub mod model;
pub mod recording;
pub mod report;
pub mod rope;
pub mod sampler;
pub mod scheduler;
pub mod sequence;
pub mod slow;
pub mod stats;
pub mod table;
pub mod watch;
