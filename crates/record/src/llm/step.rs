//! A step of the engine.

use crate::__private::mode;
use crate::arg::Value;
use crate::site::Site;
use crate::span::Span;
use crate::switch::OFF;
use crate::window_watch;
use ferrum_trace_model::vocab::{Phase, step as words};

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

static PREFILL: Site = site(Phase::Prefill);
static DECODE: Site = site(Phase::Decode);
static MIXED: Site = site(Phase::Mixed);

const fn site(phase: Phase) -> Site {
    let keys =
        &[words::PHASE, words::BATCH, words::PREFILL_TOKENS, words::DECODE_TOKENS, words::CONTEXT_TOKENS].as_slice();
    Site::new(phase.as_str(), words::CATEGORY, keys)
}

/// Begins a step, which ends when the returned span is dropped. The slice has the name of its phase.
///
/// ```
/// use ferrum_trace::llm::{self, Phase, Step};
///
/// let _step = llm::step(Step {
///     phase: Phase::Mixed,
///     batch: 9,
///     prefill_tokens: 256,
///     decode_tokens: 8,
///     context_tokens: 4096,
/// });
/// ```
#[inline(always)]
pub fn step(step: Step) -> Span<5> {
    if !crate::COMPILED_OUT {
        window_watch::step_begins();
    }
    let site = match step.phase {
        Phase::Prefill => &PREFILL,
        Phase::Decode => &DECODE,
        Phase::Mixed => &MIXED,
    };
    match mode() {
        OFF => Span::off(site),
        mode => Span::begin(
            mode,
            site,
            [
                step.phase.as_str().to_arg(),
                step.batch.to_arg(),
                step.prefill_tokens.to_arg(),
                step.decode_tokens.to_arg(),
                step.context_tokens.to_arg(),
            ],
        ),
    }
}
