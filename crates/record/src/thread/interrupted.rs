//! Count of events lost in signal handlers that interrupted the recorder.

use std::sync::atomic::{AtomicU64, Ordering};

/// Lost events that are not yet counted in the spool.
static LOST: AtomicU64 = AtomicU64::new(0);

/// Counts an event that a signal handler could not record because it interrupted the recorder.
#[cold]
pub(crate) fn count() {
    LOST.fetch_add(1, Ordering::Relaxed);
}

/// Returns the number of events counted since the last call.
pub(crate) fn take() -> u64 {
    LOST.swap(0, Ordering::Relaxed)
}
