//! How long a dump waits for what comes after: as long as was asked for, but not until what led to it is overwritten.

use crate::memory::spool::Spool;
use crate::os::clock;
use crate::recording::session::Session;
use ferrum_trace_format::spool::layout::CHUNK_BYTES;
use std::sync::Weak;
use std::thread;
use std::time::Duration;

/// How often the ring is looked at: one that is filled at full speed on many cores lasts some tens of milliseconds.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Waits for `after`, or until half of the ring is new; or until the recording ends.
pub fn wait(session: &Weak<Session>, after: Duration) {
    let begin = clock::monotonic_nanos();
    let Some(overwritten) = session.upgrade().map(|session| session.spool().n_overwritten()) else {
        return;
    };
    loop {
        let left = after.saturating_sub(Duration::from_nanos(clock::monotonic_nanos().saturating_sub(begin)));
        let goes_on = |session: &Session| session.is_open() && !is_half_new(session.spool(), overwritten);
        if left.is_zero() || !session.upgrade().is_some_and(|session| goes_on(&session)) {
            return;
        }
        thread::sleep(left.min(LOOK_EVERY));
    }
}

/// Whether half of the ring has been overwritten since so much of it was.
fn is_half_new(spool: &Spool, overwritten: u64) -> bool {
    let n_chunks = spool.n_bytes() / CHUNK_BYTES as u64;
    2 * spool.n_overwritten().saturating_sub(overwritten) >= n_chunks
}
