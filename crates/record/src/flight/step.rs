//! A step of the engine, as triggers see it.

use ferrum_trace_model::vocab::Phase;
use std::time::Duration;

/// The work of one step of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Prompts, tokens, or both.
    pub phase: Phase,
    /// Number of sequences in the batch.
    pub batch: usize,
    /// Number of prompt tokens that are computed.
    pub prefill_tokens: usize,
    /// Number of tokens that are generated: one per sequence, or a few with speculative decoding.
    pub decode_tokens: usize,
    /// Total number of tokens that the sequences have in the cache by now.
    pub context_tokens: usize,
}

/// A step that has ended, for [`trigger_when`](crate::RecorderBuilder::trigger_when).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EndedStep {
    /// Its number, counted from 0 among the steps of the recording, of all phases and threads.
    pub number: u64,
    /// Its work.
    pub step: Step,
    /// Its duration.
    pub duration: Duration,
}
