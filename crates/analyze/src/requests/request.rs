//! One request.

use ferrum_trace_model::{ArgValue, Trace, TrackId, vocab};
use std::ops::Range;

/// One request. Times are nanoseconds of the trace's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its id.
    pub id: ArgValue,
    /// Track of its first event.
    pub track: TrackId,
    /// Time of its arrival.
    pub arrival: i64,
    /// Time of its end; `None` if the trace ends before.
    pub end: Option<i64>,
    /// Length of the prompt.
    pub prompt_tokens: Option<u64>,
    /// Number of generated tokens that its end states.
    pub output_tokens: Option<u64>,
    /// Reason of its end.
    pub reason: Option<ArgValue>,
    /// Times at which tokens arrived, one entry per arrival, sorted.
    pub arrivals: Vec<i64>,
    /// Number of tokens in these arrivals.
    pub n_arrived: u64,
    /// Its stages, in time order; a stage without an end lasts to the end of the request.
    pub stages: Vec<Stage>,
    /// True if its first token was recorded before a device had finished any step that can have computed its prompt:
    /// the arrival times of its tokens are unknown then.
    pub is_early: bool,
}

/// Stage of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Kind of the stage.
    pub kind: StageKind,
    /// Time range of the stage.
    pub time: Range<i64>,
}

/// Kind of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StageKind {
    /// Waits for its first run.
    Queued,
    /// Its prompt is computed.
    Prefill,
    /// Gets token after token.
    Decode,
    /// Its cache was taken away.
    Preempted,
}

impl StageKind {
    /// All kinds, in order.
    pub const ALL: [Self; 4] = [Self::Queued, Self::Prefill, Self::Decode, Self::Preempted];
}

impl Request {
    /// Returns the time from its arrival to its end.
    pub fn latency(&self) -> Option<i64> {
        Some(self.end?.saturating_sub(self.arrival))
    }

    /// Returns the time at which the first token arrived.
    pub fn first_token(&self) -> Option<i64> {
        self.arrivals.first().copied()
    }

    /// Returns the time from its arrival to its first token, TTFT; `None` if the token was recorded before it can
    /// exist.
    pub fn time_to_first_token(&self) -> Option<i64> {
        if self.is_early {
            return None;
        }
        Some(self.first_token()?.saturating_sub(self.arrival))
    }

    /// Returns the number of generated tokens: the number that its end states, else the number that arrived.
    pub fn tokens(&self) -> u64 {
        self.output_tokens.unwrap_or(self.n_arrived)
    }

    /// Returns the time per token after the first, TPOT; `None` if there is no such token.
    pub fn time_per_output_token(&self) -> Option<f64> {
        let n_further = self.tokens().checked_sub(1).filter(|&n_further| n_further > 0)?;
        let after_first = self.latency()?.saturating_sub(self.time_to_first_token()?);
        Some(after_first as f64 / n_further as f64)
    }

    /// Returns the time before its first run; `None` if that was not recorded.
    pub fn queue_time(&self) -> Option<i64> {
        let queued = self.stages.iter().filter(|stage| stage.kind == StageKind::Queued);
        queued.map(|stage| stage.time.end.saturating_sub(stage.time.start)).reduce(i64::saturating_add)
    }
}

/// Returns true if a reason is that of a failed request.
pub(super) fn is_failure(trace: &Trace, reason: Option<ArgValue>) -> bool {
    reason.is_some_and(|reason| {
        [vocab::request::ABORT, vocab::request::ERROR, vocab::request::DROPPED]
            .contains(&&*reason.content(&trace.strings))
    })
}
