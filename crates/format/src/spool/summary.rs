//! What a spool holds, in numbers.

use super::diagnostic::Diagnostic;
use super::layout::StopReason;

/// What came out of a whole spool.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The process that recorded it.
    pub pid: u32,
    /// What that is called; empty if nobody said.
    pub process: String,
    /// Which of the processes of one run it is, if it said.
    pub rank: Option<u32>,
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
    /// Damage, the first thousand places.
    pub diagnostics: Vec<Diagnostic>,
    /// Damage, all places.
    pub n_diagnostics: u64,
}
