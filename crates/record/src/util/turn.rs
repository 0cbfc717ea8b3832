//! Turns on a processor that a thread of the recorder shares with threads of the program.

use crate::os::clock;
use std::time::Duration;

/// Time after which a turn ends. Each yield costs a share of the processor if other threads are waiting, so that a
/// thread that yields more often than it has to gets next to nothing.
const TURN: Duration = Duration::from_micros(200);

/// A turn: the time since the thread has last yielded its processor.
#[derive(Debug)]
pub(crate) struct Turn {
    /// Nanoseconds of the monotonic clock; 0 before the first check.
    begun: u64,
}

impl Turn {
    /// Creates a turn that begins with the first check.
    pub(crate) const fn new() -> Self {
        Self { begun: 0 }
    }

    /// Yields the processor if the turn is over. That costs nearly nothing if no other thread is waiting.
    pub(crate) fn yield_if_over(&mut self) {
        let now = clock::monotonic_nanos();
        if self.begun == 0 {
            self.begun = now;
        } else if now.saturating_sub(self.begun) > TURN.as_nanos() as u64 {
            std::thread::yield_now();
            self.begun = clock::monotonic_nanos();
        }
    }
}
