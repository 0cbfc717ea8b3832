//! The reference engine's `ferrum_bench_core::trace` module, served by ferrum-trace.
