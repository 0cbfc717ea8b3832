//! Stands for the original engine's crate `ferrum_bench_core`. Its file `trace.rs` is all that changes; see `docs/instrument.md`.

pub mod trace;
