//! The original engine's `ferrum_bench_core::trace`, implemented by [`ferrum_trace`].

/// Chrome traces of an engine, with the names of the original engine's interface.
pub mod trace {
    pub use ferrum_trace::{BackendTimer, CpuTimer, TraceEvent, TraceWriter, flush_global_trace, global_trace};
}
