//! Mean and percentiles.

use ferrum_trace_analyze::Distribution;
use serde::Serialize;

/// Mean and percentiles of durations.
#[derive(Serialize)]
pub(crate) struct DurationsObject {
    mean_ns: f64,
    min_ns: i64,
    p50_ns: i64,
    p95_ns: i64,
    p99_ns: i64,
    max_ns: i64,
}

impl DurationsObject {
    pub(crate) fn new(mean_ns: f64, durations: &Distribution) -> Self {
        let Distribution { min, p50, p95, p99, max, .. } = *durations;
        Self { mean_ns, min_ns: min, p50_ns: p50, p95_ns: p95, p99_ns: p99, max_ns: max }
    }
}
