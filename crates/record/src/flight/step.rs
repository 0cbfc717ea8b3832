//! A step of the engine, as triggers see it.

use ferrum_trace_model::vocab::Phase;
use std::time::Duration;

/// What a step of the engine computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Prompts, tokens, or both.
    pub phase: Phase,
    /// How many sequences take part.
    pub batch: usize,
    /// How many tokens of prompts are computed.
    pub prefill_tokens: usize,
    /// How many tokens are generated from the last ones: one a sequence, or a few if they are guessed ahead.
    pub decode_tokens: usize,
    /// How many tokens the sequences have in the cache by now, all together.
    pub context_tokens: usize,
}

/// A step that has ended, for [`trigger_when`](crate::RecorderBuilder::trigger_when).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EndedStep {
    /// Which one it was, counted from 0 among those that the recording has, whatever their phase or thread.
    pub number: u64,
    /// What it computed.
    pub step: Step,
    /// How long it took.
    pub duration: Duration,
}
