//! The summary of a spool.

use super::diagnostic::Diagnostic;
use super::layout::StopReason;
use ferrum_trace_model::Recording;

/// The summary of a spool.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The process that recorded it.
    pub pid: u32,
    /// Name of the process; empty if unknown.
    pub process: String,
    /// The rank of the process in its run, if known.
    pub rank: Option<u32>,
    /// Id of the boot, which identifies the monotonic clock of the times; empty if unknown.
    pub boot_id: String,
    /// Time zero of the recording on that clock.
    pub start_monotonic_ns: u64,
    /// Number of the part of a rotating recording, from 1; 0 if it does not rotate.
    pub part: u64,
    /// PieceOutput events, without metadata.
    pub events: u64,
    /// Events that the recorder dropped and counted.
    pub dropped: u64,
    /// Number of threads that recorded something.
    pub threads: usize,
    /// The reason, if recording stopped early.
    pub stop_reason: Option<StopReason>,
    /// True if the recorder completed the spool.
    pub finished: bool,
    /// All facts that a trace made of it states.
    pub recording: Recording,
    /// Damage: the first thousand places.
    pub diagnostics: Vec<Diagnostic>,
    /// Damage: number of places.
    pub n_diagnostics: u64,
    /// Damage: upper bound for the number of events that are missing because of it.
    pub n_missing_max: u64,
}

impl Summary {
    /// Returns what could not be read, if anything. A trace made of the spool does not replace it then: another version
    /// of the reader, or a repair of the file, may get more out of it.
    pub fn why_incomplete(&self) -> Option<String> {
        let some = |n: u64, what: &str, verb: &str| {
            let plural = if n == 1 { "" } else { "s" };
            (n > 0).then(|| format!("{n} {what}{plural} {verb}"))
        };
        // The texts of a ring may be overwritten, and those of a part may be in the part before it.
        let may_lack_texts = self.recording.ring_bytes.is_some() || self.part > 1;
        let n_lost_texts = if may_lack_texts { 0 } else { self.recording.lost_texts };
        some(self.n_diagnostics, "damaged place", "skipped").or_else(|| some(n_lost_texts, "text", "missing"))
    }

    /// Returns true if another file is a part of the same rotating recording.
    pub fn is_part_with(&self, other: &Self) -> bool {
        let recording = |it: &Self| (it.pid, it.start_monotonic_ns);
        let (is_part, is_others_part) = (self.part > 0, other.part > 0);
        is_part && is_others_part && recording(self) == recording(other) && self.boot_id == other.boot_id
    }
}
