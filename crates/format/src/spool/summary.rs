//! What a spool holds, in numbers.

use super::diagnostic::Diagnostic;
use super::layout::StopReason;
use ferrum_trace_model::Recording;

/// What came out of a whole spool.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The process that recorded it.
    pub pid: u32,
    /// What that is called; empty if nobody said.
    pub process: String,
    /// Which of the processes of one run it is, if it said.
    pub rank: Option<u32>,
    /// Which monotonic clock its times are of; empty if nobody said.
    pub boot_id: String,
    /// The time zero of the recording on that clock.
    pub start_monotonic_ns: u64,
    /// Which file of a rotating recording it is, from 1 on; 0 if it is none.
    pub part: u64,
    /// Events written, metadata not counted.
    pub events: u64,
    /// Events that the recorder had to drop, and counted.
    pub dropped: u64,
    /// Threads that recorded something.
    pub threads: usize,
    /// Why recording stopped early, if it did.
    pub stop_reason: Option<StopReason>,
    /// Whether the recorder finished the spool by itself.
    pub finished: bool,
    /// All facts that a trace made of it states.
    pub recording: Recording,
    /// Damage, the first thousand places.
    pub diagnostics: Vec<Diagnostic>,
    /// Damage, all places.
    pub n_diagnostics: u64,
}

impl Summary {
    /// Whether another file is of the same recording, which rotates.
    pub fn is_part_with(&self, other: &Self) -> bool {
        let recording = |it: &Self| (it.pid, it.start_monotonic_ns);
        let (is_part, is_others_part) = (self.part > 0, other.part > 0);
        is_part && is_others_part && recording(self) == recording(other) && self.boot_id == other.boot_id
    }
}
