//! Post-roll: delays a dump to include later events, without losing the events before its trigger.

use crate::flight::recording::Recording;
use crate::memory::spool::Spool;
use crate::os::clock;
use ferrum_trace_format::spool::layout::CHUNK_BYTES;
use std::sync::Weak;
use std::thread;
use std::time::Duration;

/// Interval at which the ring is examined. Many cores at full speed fill a ring in some tens of milliseconds.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Waits for `after`, until half of the ring is new, or until the recording ends.
pub(crate) fn wait(recording: &Weak<Recording>, after: Duration) {
    let begin = clock::monotonic_nanos();
    let Some(overwritten) = recording.upgrade().map(|recording| recording.spool().n_overwritten()) else {
        return;
    };
    loop {
        let left = after.saturating_sub(Duration::from_nanos(clock::monotonic_nanos().saturating_sub(begin)));
        let can_wait = |recording: &Recording| recording.is_open() && !is_half_new(recording.spool(), overwritten);
        if left.is_zero() || !recording.upgrade().is_some_and(|recording| can_wait(&recording)) {
            return;
        }
        thread::sleep(left.min(LOOK_EVERY));
    }
}

/// Returns true if half of the ring has been overwritten since its count of overwritten chunks was `overwritten`.
fn is_half_new(spool: &Spool, overwritten: u64) -> bool {
    let n_chunks = spool.n_bytes() / CHUNK_BYTES as u64;
    2 * spool.n_overwritten().saturating_sub(overwritten) >= n_chunks
}
