//! Steps of the engine.

use crate::flight::step::Step;
use crate::probe::mode::mode;
use crate::probe::span::Span;
use crate::process::switch::OFF;
use crate::process::value::Value;
use crate::thread::site::Site;
use crate::watch::steps;
use crate::watch::window;
use ferrum_trace_model::vocab::{Phase, step as words, trigger};
use std::mem::ManuallyDrop;
use std::ops::Deref;

const KEYS: [&str; 5] =
    [words::PHASE, words::BATCH, words::PREFILL_TOKENS, words::DECODE_TOKENS, words::CONTEXT_TOKENS];
const KEYS_AND_MARK: [&str; 6] = [KEYS[0], KEYS[1], KEYS[2], KEYS[3], KEYS[4], trigger::MARK];

static PREFILL: Site = Site::new(Phase::Prefill.as_str(), words::CATEGORY, &KEYS);
static DECODE: Site = Site::new(Phase::Decode.as_str(), words::CATEGORY, &KEYS);
static MIXED: Site = Site::new(Phase::Mixed.as_str(), words::CATEGORY, &KEYS);
static MARKED_PREFILL: Site = Site::new(Phase::Prefill.as_str(), words::CATEGORY, &KEYS_AND_MARK);
static MARKED_DECODE: Site = Site::new(Phase::Decode.as_str(), words::CATEGORY, &KEYS_AND_MARK);
static MARKED_MIXED: Site = Site::new(Phase::Mixed.as_str(), words::CATEGORY, &KEYS_AND_MARK);

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
pub fn step(step: Step) -> StepSpan {
    let site = match step.phase {
        Phase::Prefill => &PREFILL,
        Phase::Decode => &DECODE,
        Phase::Mixed => &MIXED,
    };
    // Read first, so that the first step sees the window that the environment requests. The window may open or close
    // here.
    let mut mode = mode();
    if window::watches_steps() {
        window::step_begins();
        mode = self::mode();
    }
    match mode {
        OFF => StepSpan { watched_since: 0, span: ManuallyDrop::new(Span::off(site)) },
        mode => {
            let args = [
                step.phase.as_str().to_arg(),
                step.batch.to_arg(),
                step.prefill_tokens.to_arg(),
                step.decode_tokens.to_arg(),
                step.context_tokens.to_arg(),
            ];
            let watched_since = steps::step_begins();
            StepSpan { watched_since, span: ManuallyDrop::new(Span::begin(mode, site, args)) }
        }
    }
}

/// A step that ends when it is dropped, made by [`step`]: a [`Span`] that triggers evaluate.
#[must_use = "a step ends when it is dropped: bind it to a name such as `_step`"]
#[derive(Debug)]
pub struct StepSpan {
    /// Start in nanoseconds; 0 if no trigger evaluates it.
    watched_since: u64,
    /// Dropped manually: with two destructors, the compiler would not keep the guard in registers.
    span: ManuallyDrop<Span<5>>,
}

impl Deref for StepSpan {
    type Target = Span<5>;

    fn deref(&self) -> &Span<5> {
        &self.span
    }
}

impl Drop for StepSpan {
    #[inline(always)]
    fn drop(&mut self) {
        let span = self.span.take();
        if self.watched_since != 0 {
            end_watched(self.watched_since, span);
        }
    }
}

/// Ends a step that triggers evaluate, and marks it if one of them fires.
#[cold]
#[inline(never)]
fn end_watched(since: u64, mut span: Span<5>) {
    // First, so that the step does not include the evaluation.
    let end = span.now();
    let args = *span.args();
    let [batch, prefill_tokens, decode_tokens, context_tokens] = [1, 2, 3, 4].map(|n: usize| args[n].word as usize);
    let phase = Phase::ALL.iter().copied().find(|phase| phase.as_str() == span.name()).unwrap_or(Phase::Mixed);
    let step = Step { phase, batch, prefill_tokens, decode_tokens, context_tokens };
    let Some(hit) = steps::step_ends(step, since) else {
        return span.end_at(end, None);
    };
    let site = match phase {
        Phase::Prefill => &MARKED_PREFILL,
        Phase::Decode => &MARKED_DECODE,
        Phase::Mixed => &MARKED_MIXED,
    };
    let reason = hit.reason().to_arg();
    span.end_at(end, Some((site, &[args[0], args[1], args[2], args[3], args[4], reason])));
    hit.fire();
}
