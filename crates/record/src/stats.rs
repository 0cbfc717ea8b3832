//! How much has been recorded.

use ferrum_trace_format::spool::Summary;

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
}

impl Stats {
    pub(crate) fn new(summary: &Summary, bytes: u64) -> Self {
        Self { recorded: summary.events, dropped: summary.dropped, bytes, threads: summary.threads }
    }
}
