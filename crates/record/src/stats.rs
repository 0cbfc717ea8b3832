//! How much has been recorded.

use ferrum_trace_format::spool::Summary;
use ferrum_trace_model::RefusedDumps;

/// Counts of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Events that are, or will be, in the file.
    pub recorded: u64,
    /// Events that were lost: beyond the limit, on a full disk, or in a signal handler that interrupted the recorder.
    pub dropped: u64,
    /// Bytes of the spool.
    pub bytes: u64,
    /// Threads that recorded something.
    pub threads: usize,
    /// Dumps that were granted, to [`dump`](crate::dump()) or a [`Trigger`](crate::Trigger).
    pub dumps: u64,
    /// Dumps that were asked for and not granted.
    pub dumps_refused: u64,
    /// The same by reason.
    pub refused: RefusedDumps,
}

impl std::ops::AddAssign for Stats {
    /// Counts of one recording in several files. Those of threads are of the file with most.
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

impl Stats {
    pub(crate) fn new(summary: &Summary, bytes: u64) -> Self {
        let Summary { events: recorded, dropped, threads, .. } = *summary;
        Self { recorded, dropped, bytes, threads, ..Self::default() }
    }
}
