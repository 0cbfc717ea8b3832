//! The reference engine's `ferrum_bench_core::trace`, served by [`ferrum_trace`].

/// Chrome traces of an engine, under the reference's names.
pub mod trace {
    pub use ferrum_trace::{BackendTimer, CpuTimer, TraceEvent, TraceWriter, flush_global_trace, global_trace};
}
