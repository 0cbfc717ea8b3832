//! Stands for the original engine's crate `ferrum_bench_core`. Only its file `trace.rs` changes; see
//! `docs/instrument.md`.

pub mod trace;
