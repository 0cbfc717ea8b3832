//! Marks of steps in vLLM's spelling, by which TraceLens finds the steps of an engine.

use crate::steps::phase_at_start;
use ferrum_trace_format::chrome::read::for_each_member;
use ferrum_trace_model::vocab::{Phase, step};

/// Phase and size of a step, as far as its slice states them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StepFacts {
    /// The phase that an argument or the name states.
    pub phase: Option<Phase>,
    /// True if an argument states the phase.
    pub has_phase_argument: bool,
    batch: Option<u64>,
    prefill_tokens: Option<u64>,
    decode_tokens: Option<u64>,
}

impl StepFacts {
    /// Parses the name of a step and its arguments: those of its begin and those of its end.
    pub(super) fn of(name: &str, args: [&[u8]; 2]) -> Self {
        let mut facts = Self::default();
        for args in args {
            for_each_member(args, |key, value| {
                let value = value.decode();
                match &*key.decode() {
                    step::PHASE => facts.phase = Phase::from_text(&value).or(facts.phase),
                    step::BATCH => facts.batch = value.parse().ok(),
                    step::PREFILL_TOKENS => facts.prefill_tokens = value.parse().ok(),
                    step::DECODE_TOKENS => facts.decode_tokens = value.parse().ok(),
                    _ => {}
                }
            });
        }
        facts.has_phase_argument = facts.phase.is_some();
        facts.phase = facts.phase.or_else(|| phase_at_start(name));
        facts
    }

    /// Returns vLLM's name of such a step: requests and, in parentheses, prompt tokens and generated tokens. A step
    /// without a batch size counts as one sequence, and a sequence that generates counts as one token. A step without a
    /// phase has no sequences.
    pub(super) fn vllm_name(&self) -> String {
        let batch = self.batch.unwrap_or(1).max(1);
        let (prompts, generating) = match self.phase {
            None => (0, 0),
            Some(Phase::Prefill) => (batch, 0),
            Some(Phase::Decode) => (0, batch),
            Some(Phase::Mixed) => {
                // Both kinds take part, so there is at least one of each.
                let most = batch.saturating_sub(1).max(1);
                let generating = self.decode_tokens.unwrap_or(most).clamp(1, most);
                (batch.saturating_sub(generating).max(1), generating)
            }
        };
        let prompt_tokens = if prompts > 0 { self.prefill_tokens.unwrap_or(0) } else { 0 };
        let generated = if generating > 0 { self.decode_tokens.unwrap_or(generating) } else { 0 };
        format!("execute_context_{prompts}({prompt_tokens})_generation_{generating}({generated})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::Mark;

    fn named(name: &str, args: &str) -> String {
        StepFacts::of(name, [args.as_bytes(), b""]).vllm_name()
    }

    #[test]
    fn steps_are_named_as_vllm_names_them() {
        let prefill = r#"{"phase":"prefill","batch":2,"prefill_tokens":14721}"#;
        assert_eq!(named("step", prefill), "execute_context_2(14721)_generation_0(0)");
        assert_eq!(named("decode", r#"{"batch":64}"#), "execute_context_0(0)_generation_64(64)");
        let guessing = r#"{"phase":"decode","batch":4,"decode_tokens":12}"#;
        assert_eq!(named("decode", guessing), "execute_context_0(0)_generation_4(12)");
        let mixed = r#"{"phase":"mixed","batch":5,"prefill_tokens":6144,"decode_tokens":3}"#;
        assert_eq!(named("step", mixed), "execute_context_2(6144)_generation_3(3)");
    }

    #[test]
    fn missing_counts_default_to_one_sequence() {
        assert_eq!(named("decode step 3", ""), "execute_context_0(0)_generation_1(1)");
        assert_eq!(named("prefill", ""), "execute_context_1(0)_generation_0(0)");
        assert_eq!(named("mixed", ""), "execute_context_1(0)_generation_1(1)");
        assert_eq!(named("warm up", r#"{"batch":3}"#), "execute_context_0(0)_generation_0(0)");
    }

    #[test]
    fn our_parser_finds_the_same_phase() {
        for phase in Phase::ALL.iter().copied() {
            let name = named(phase.as_str(), r#"{"batch":8,"decode_tokens":100}"#);
            assert_eq!(Mark::of_name(&name).and_then(|mark| mark.phase), Some(phase), "{name}");
        }
    }

    #[test]
    fn arguments_of_the_end_count_too() {
        let facts = StepFacts::of("step", [br#"{"phase":"decode"}"#, br#"{"batch":7}"#]);
        assert_eq!(facts.vllm_name(), "execute_context_0(0)_generation_7(7)");
        assert!(facts.has_phase_argument && !StepFacts::of("decode", [b"", b""]).has_phase_argument);
    }
}
