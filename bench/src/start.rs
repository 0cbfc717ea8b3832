//! The state of the process at the start of `main`.

use crate::sys;

/// Taken first in `main`, so that earlier code (initializers of linked libraries) is not attributed to the measured
/// contender: fastant alone calibrates its clock for about 20 ms before `main`, in every process that links it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start {
    pub monotonic_ns: u64,
    pub cpu_ns: u64,
}

impl Start {
    pub(crate) fn now() -> Self {
        Self { monotonic_ns: sys::monotonic_ns(), cpu_ns: sys::process_cpu_ns() }
    }
}
