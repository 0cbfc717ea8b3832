//! Result of a merge: inputs, processes, alignment and comparisons of ranks.

use super::align::Alignment;
use super::one_run::NotRanks;
use super::skew::Skew;
use ferrum_trace_format::chrome::read::Losses;
use ferrum_trace_model::Recordings;

/// A process in the merged trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedProcess {
    /// What it is called there.
    pub name: String,
    /// Its number there.
    pub pid: u32,
    /// Its id in the input, as text.
    pub old_pid: String,
    /// Its rank, if it has one.
    pub rank: Option<u32>,
}

/// What became of an input.
#[derive(Clone, Debug)]
pub struct MergedInput {
    /// Its place among the inputs as they were given.
    pub place: usize,
    /// What it is called.
    pub name: String,
    /// Its rank, if all of it has one.
    pub rank: Option<u32>,
    /// Its host, if it says.
    pub host: Option<String>,
    /// How its clock was aligned.
    pub alignment: Alignment,
    /// Its processes, in the order of the merged trace.
    pub processes: Vec<MergedProcess>,
    /// Number of events it that has.
    pub n_events: u64,
    /// What of it could not be read.
    pub losses: Losses,
    /// Facts that the recorder states about the recordings in it.
    pub recordings: Recordings,
}

/// What became of all of them.
#[derive(Clone, Debug)]
pub struct Merged {
    /// The inputs, in the order of the merged trace: by rank, then as they were given.
    pub inputs: Vec<MergedInput>,
    /// Number of events that were written.
    pub n_events: u64,
    /// When time zero of the merged trace was, in nanoseconds since 1970, if that is known.
    pub start_unix_ns: Option<i128>,
    /// The reason why collectives and steps are not compared, if the inputs are not ranks of one run. The places are
    /// those of [`inputs`](Self::inputs).
    pub not_ranks: Option<NotRanks>,
    /// Collectives, over ranks.
    pub collectives: Skew,
    /// Steps, over ranks.
    pub steps: Skew,
    /// Fields around the events that were too long to keep.
    pub n_fields_lost: u64,
    /// Collectives and steps that are in no table, since there are too many different ones.
    pub n_uncompared: u64,
}

impl Merged {
    /// By how many nanoseconds the times of any input may be off, at most; `None` if that is not known of all.
    pub fn error_ns(&self) -> Option<u64> {
        let mut errors = self.inputs.iter().map(|input| input.alignment.error_ns);
        errors.try_fold(0, |worst, error| Some(worst.max(error?)))
    }
}
