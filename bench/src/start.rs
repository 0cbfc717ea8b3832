//! The state of the process when `main` began.

use crate::sys;

/// Taken first of all in `main`, so that what ran before it (initializers of linked libraries) is not charged to the
/// contender under test: fastant alone calibrates its clock for about 20 ms before `main`, in every process that links it.
#[derive(Debug, Clone, Copy)]
pub struct Start {
    pub monotonic_ns: u64,
    pub cpu_ns: u64,
}

impl Start {
    pub fn now() -> Self {
        Self { monotonic_ns: sys::monotonic_ns(), cpu_ns: sys::process_cpu_ns() }
    }
}
