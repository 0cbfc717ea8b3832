//! Sums of sequence lengths that marks of steps state.
//!
//! | mark | sums |
//! | --- | --- |
//! | `execute_6147_context_2(sq6144sk7144sqsq20971520sqsk23019520)_generation_3(sq3sk6144sqsq3sqsk6144)` | vLLM |
//! | `step[MIXED bs=5 c_sq=6144 c_sk=7144 c_sqsq=20971520 c_sqsk=23019520 g_sq=3 g_sk=6144 g_sqsk=6144]` | SGLang |

use super::work::TokenSums;

/// Sums over the sequences of a step: of prompts (context) and of generation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct StepSums {
    context: Sums,
    generation: Sums,
}

/// Sums over sequences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Sums {
    /// Query tokens.
    sq: u64,
    /// Tokens that they see.
    sk: u64,
    /// Squares of the query tokens.
    sqsq: u64,
    /// Products of both.
    sqsk: u64,
}

impl StepSums {
    /// Returns the sums that the name of a mark states.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        if let Some(fields) = name.strip_prefix("step[") {
            let sums = Self { context: Sums::of_fields(fields, 'c'), generation: Sums::of_fields(fields, 'g') };
            return (sums != Self::default()).then_some(sums);
        }
        let rest = name.strip_prefix("execute_")?;
        let (context, generation) = rest.split_once("_generation_")?;
        Some(Self { context: Sums::in_parentheses(context)?, generation: Sums::in_parentheses(generation)? })
    }

    /// Returns the tokens of the attention of the step. A causal mask applies to prompts; keys and values of the
    /// queries are new, all others are cached.
    pub(super) fn tokens(&self) -> TokenSums {
        self.context.tokens(self.context.sqsq).plus(self.generation.tokens(0))
    }

    /// Returns the sums as text.
    pub(super) fn shape(&self) -> String {
        let part =
            |name: &str, sums: Sums| format!("{name}_sq={} {name}_sk={} {name}_sqsk={}", sums.sq, sums.sk, sums.sqsk);
        match (self.context == Sums::default(), self.generation == Sums::default()) {
            (true, _) => part("g", self.generation),
            (false, true) => part("c", self.context),
            (false, false) => format!("{} {}", part("c", self.context), part("g", self.generation)),
        }
    }
}

impl Sums {
    fn tokens(&self, masked: u64) -> TokenSums {
        TokenSums {
            queries: self.sq,
            new: self.sq,
            cached: self.sk.saturating_sub(self.sq),
            twice_pairs: self.sqsk.saturating_mul(2).saturating_sub(masked),
        }
    }

    /// Parses `…2(sq6144sk7144sqsq20971520sqsk23019520)…`.
    fn in_parentheses(text: &str) -> Option<Self> {
        let (_, rest) = text.split_once('(')?;
        let (inside, _) = rest.split_once(')')?;
        let mut rest = inside;
        let mut number = |key: &str| {
            let after = rest.strip_prefix(key)?;
            let (digits, others) = after.split_at(after.bytes().take_while(u8::is_ascii_digit).count());
            rest = others;
            digits.parse().ok()
        };
        Some(Self { sq: number("sq")?, sk: number("sk")?, sqsq: number("sqsq")?, sqsk: number("sqsk")? })
    }

    /// Parses the fields `c_sq=6144 c_sk=7144 …` of one part.
    fn of_fields(fields: &str, part: char) -> Self {
        let number = |key: &str| {
            let words = fields.split([' ', ']']).filter_map(|word| word.strip_prefix(part)?.strip_prefix('_'));
            let mut values = words.filter_map(|word| word.strip_prefix(key)?.strip_prefix('='));
            values.next().and_then(|value| value.parse().ok()).unwrap_or(0)
        };
        Self { sq: number("sq"), sk: number("sk"), sqsq: number("sqsq"), sqsk: number("sqsk") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_engines_state_the_same_sums() {
        let vllm = "execute_6147_context_2(sq6144sk7144sqsq20971520sqsk23019520)_generation_3(sq3sk6144sqsq3sqsk6144)";
        let sglang = "step[MIXED bs=5 c_sq=6144 c_sk=7144 c_sqsq=20971520 c_sqsk=23019520 g_sq=3 g_sk=6144 g_sqsq=3 g_sqsk=6144]";
        let sums = StepSums::of_name(vllm).unwrap();
        assert_eq!(Some(sums), StepSums::of_name(sglang));
        let tokens = sums.tokens();
        assert_eq!((tokens.queries, tokens.new, tokens.cached), (6147, 6147, 1000 + 6141));
        assert_eq!(tokens.twice_pairs, 2 * 23_019_520 - 20_971_520 + 2 * 6144);
    }

    #[test]
    fn marks_without_sums_have_none() {
        for name in ["execute_context_2(14721)_generation_3(3)", "step[DECODE bs=64]", "decode", "execute_"] {
            assert_eq!(StepSums::of_name(name), None, "{name}");
        }
    }
}
