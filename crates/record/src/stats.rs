//! Counts of a recording.

use ferrum_trace_format::spool::Summary;
use ferrum_trace_model::RefusedDumps;

/// Counts of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Events that are in the file, or will be.
    pub recorded: u64,
    /// Events that were dropped: beyond the limit, on a full disk, or in a signal handler that interrupted the
    /// recorder.
    pub dropped: u64,
    /// Size of the spool in bytes.
    pub bytes: u64,
    /// Threads that recorded something.
    pub threads: usize,
    /// Dumps that were accepted, from [`dump`](crate::dump()) or a [`Trigger`](crate::Trigger).
    pub dumps: u64,
    /// Dumps that were refused.
    pub dumps_refused: u64,
    /// Refused dumps by reason.
    pub refused: RefusedDumps,
}

impl std::ops::AddAssign for Stats {
    /// Adds the counts of another part of the recording. `threads` becomes that of the part with the most threads.
    fn add_assign(&mut self, other: Self) {
        self.recorded += other.recorded;
        self.dropped += other.dropped;
        self.bytes += other.bytes;
        self.threads = self.threads.max(other.threads);
        self.dumps += other.dumps;
        self.dumps_refused += other.dumps_refused;
        self.refused += other.refused;
    }
}

impl std::ops::Add for Stats {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl Stats {
    pub(crate) fn new(summary: &Summary, bytes: u64) -> Self {
        let Summary { events: recorded, dropped, threads, .. } = *summary;
        Self { recorded, dropped, bytes, threads, ..Self::default() }
    }
}
