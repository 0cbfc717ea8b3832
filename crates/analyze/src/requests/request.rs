//! One request.

use ferrum_trace_model::{StringId, Trace, TrackId, vocab};
use std::ops::Range;

/// One request. Times are nanoseconds, as the file has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its id, as text.
    pub id: StringId,
    /// Where its first event was recorded.
    pub track: TrackId,
    /// When it came.
    pub arrival: i64,
    /// When it ended; `None` if the trace ends before.
    pub end: Option<i64>,
    /// How long the prompt is.
    pub prompt_tokens: Option<u64>,
    /// Number of tokens that were generated, as the end of it says.
    pub output_tokens: Option<u64>,
    /// Why it ended.
    pub reason: Option<StringId>,
    /// When tokens came: one entry an arrival, in order.
    pub arrivals: Vec<i64>,
    /// Number of tokens that came in these.
    pub n_arrived: u64,
    /// What it was in, in order; those that have no end last to the end of the request.
    pub stages: Vec<Stage>,
    /// True if its first token was recorded before a device had finished any step that can have computed its prompt: when its tokens
    /// came is not known then.
    pub is_early: bool,
}

/// What a request is in for a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// What it is in.
    pub kind: StageKind,
    /// From when to when.
    pub time: Range<i64>,
}

/// What a request can be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StageKind {
    /// It waits to be run for the first time.
    Queued,
    /// Its prompt is computed.
    Prefill,
    /// It gets token after token.
    Decode,
    /// Its cache was taken away.
    Preempted,
}

impl StageKind {
    /// All of them, in their order.
    pub const ALL: [Self; 4] = [Self::Queued, Self::Prefill, Self::Decode, Self::Preempted];
}

impl Request {
    /// From its arrival to its end.
    pub fn latency(&self) -> Option<i64> {
        Some(self.end?.saturating_sub(self.arrival))
    }

    /// When the first token came.
    pub fn first_token(&self) -> Option<i64> {
        self.arrivals.first().copied()
    }

    /// From its arrival to its first token: TTFT. `None` if it was recorded before it can exist.
    pub fn time_to_first_token(&self) -> Option<i64> {
        if self.is_early {
            return None;
        }
        Some(self.first_token()?.saturating_sub(self.arrival))
    }

    /// Returns the number of tokens that were generated: as its end says, else as many as came.
    pub fn tokens(&self) -> u64 {
        self.output_tokens.unwrap_or(self.n_arrived)
    }

    /// The time for each token after the first, TPOT; `None` if there is no such token.
    pub fn time_per_output_token(&self) -> Option<f64> {
        let n_further = self.tokens().checked_sub(1).filter(|&n_further| n_further > 0)?;
        let after_first = self.latency()?.saturating_sub(self.time_to_first_token()?);
        Some(after_first as f64 / n_further as f64)
    }

    /// How long it waited to be run for the first time; `None` if that was not recorded.
    pub fn queue_time(&self) -> Option<i64> {
        let queued = self.stages.iter().filter(|stage| stage.kind == StageKind::Queued);
        queued.map(|stage| stage.time.end.saturating_sub(stage.time.start)).reduce(i64::saturating_add)
    }
}

/// Returns true if a reason is that of a request that did not end well.
pub(super) fn is_failure(trace: &Trace, reason: Option<StringId>) -> bool {
    reason.is_some_and(|reason| {
        [vocab::request::ABORT, vocab::request::ERROR, vocab::request::DROPPED].contains(&trace.strings.get(reason))
    })
}
