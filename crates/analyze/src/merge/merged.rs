//! Result of a merge: inputs, processes, alignment and comparisons of ranks.

use super::align::Alignment;
use super::one_run::NotRanks;
use super::skew::Skew;
use ferrum_trace_format::chrome::read::Losses;
use ferrum_trace_model::Recordings;

/// A process in the merged trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedProcess {
    /// Its name in the merged trace.
    pub name: String,
    /// Its number in the merged trace.
    pub pid: u32,
    /// Its id in the input, as text.
    pub old_pid: String,
    /// Its rank, if it has one.
    pub rank: Option<u32>,
}

/// Result of the merge for one input.
#[derive(Clone, Debug)]
pub struct MergedInput {
    /// Its index among the inputs.
    pub place: usize,
    /// Its name.
    pub name: String,
    /// Its rank, if all its processes have the same one.
    pub rank: Option<u32>,
    /// Its host, if the trace states it.
    pub host: Option<String>,
    /// Alignment of its clock.
    pub alignment: Alignment,
    /// Its processes, in the order of the merged trace.
    pub processes: Vec<MergedProcess>,
    /// Number of events.
    pub n_events: u64,
    /// Losses of the reader.
    pub losses: Losses,
    /// Metadata that the recorder wrote about the recordings.
    pub recordings: Recordings,
}

/// Result of a merge.
#[derive(Clone, Debug)]
pub struct Merged {
    /// The inputs, in the order of the merged trace: by rank, then in the order of the inputs.
    pub inputs: Vec<MergedInput>,
    /// Number of events that were written.
    pub n_events: u64,
    /// Time zero of the merged trace, in nanoseconds since 1970, if known.
    pub start_unix_ns: Option<i128>,
    /// The reason why collectives and steps are not compared, if the inputs are not ranks of one run. Its indices are
    /// those of [`inputs`](Self::inputs).
    pub not_ranks: Option<NotRanks>,
    /// Comparison of collectives across ranks.
    pub collectives: Skew,
    /// Comparison of steps across ranks.
    pub steps: Skew,
    /// Number of fields around the events that were too long to keep.
    pub n_fields_lost: u64,
    /// Number of collectives and steps that are in no table, since there are too many different ones.
    pub n_uncompared: u64,
}

impl Merged {
    /// Returns the largest error of the times of any input, in nanoseconds; `None` if any is unknown.
    pub fn error_ns(&self) -> Option<u64> {
        let mut errors = self.inputs.iter().map(|input| input.alignment.error_ns);
        errors.try_fold(0, |worst, error| Some(worst.max(error?)))
    }
}
