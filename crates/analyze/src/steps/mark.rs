//! Parses the names of step marks.
//!
//! | spelling | written by |
//! | --- | --- |
//! | category `step`, name or argument `phase` one of our words | ferrum-trace |
//! | `execute_context_2(14721)_generation_3(3)` | vLLM: requests and, in parentheses, tokens of prompts and of generation |
//! | `execute_6147_context_2(sq6144sk7144sqsq20971520sqsk23019520)_generation_3(sq3sk6144sqsq3sqsk6144)` | vLLM, with details: `sq` tokens, `sk` the context they see |
//! | `step[EXTEND bs=2 toks=14721]`, `step[DECODE bs=64]`, `step[MIXED bs=2 …]` | SGLang; with details `c_sq`, `c_sk` of prompts and `g_sq`, `g_sk` of generation |
//! | `prefill`, `decode_step#3`, `prefill[bs=2 tok=14721]`, `decode[bs=117/128 tok=117]` | annotations of torch.profiler that begin with one of our words |
//! | `ProfilerStep#12` | torch.profiler; used where there is nothing better |

use crate::kineto::STEP_PREFIX;
use ferrum_trace_model::vocab::Phase;

/// Tool that marks steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StepSource {
    /// This recorder: the category `step`.
    Ferrum,
    /// vLLM's `execute_…_generation_…`.
    Vllm,
    /// SGLang's `step[…]`.
    Sglang,
    /// Annotations of torch.profiler that begin with a phase.
    Annotation,
    /// torch.profiler's `ProfilerStep#…`, which has no phase.
    Profiler,
}

impl StepSource {
    /// Returns the name of the tool.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ferrum => "ferrum-trace",
            Self::Vllm => "vLLM",
            Self::Sglang => "SGLang",
            Self::Annotation => "annotations",
            Self::Profiler => "ProfilerStep",
        }
    }
}

/// Properties of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The tool that marked it.
    pub source: StepSource,
    /// Its phase, if known.
    pub phase: Option<Phase>,
    /// Number of sequences that take part.
    pub batch: Option<u64>,
    /// Number of prompt tokens that are computed.
    pub prefill_tokens: Option<u64>,
    /// Number of generated tokens.
    pub decode_tokens: Option<u64>,
    /// Number of context tokens of the sequences.
    pub context_tokens: Option<u64>,
}

impl Mark {
    /// Creates a mark with unknown counts.
    pub fn new(source: StepSource, phase: Option<Phase>) -> Self {
        Self { source, phase, batch: None, prefill_tokens: None, decode_tokens: None, context_tokens: None }
    }

    /// Parses the name of a step of another tool. Annotations are excluded: any program may use the name `prefill`.
    pub fn of_name(name: &str) -> Option<Self> {
        if name.starts_with("execute_") {
            return of_vllm(name);
        }
        if let Some(fields) = name.strip_prefix("step[") {
            return Some(of_sglang(fields));
        }
        let number = name.strip_prefix(STEP_PREFIX)?;
        is_number(number).then(|| Self::new(StepSource::Profiler, None))
    }

    /// Parses the name of an annotation that begins with a phase.
    pub(crate) fn of_annotation(name: &str) -> Option<Self> {
        let phase = phase_at_start(name)?;
        let mut mark = Self::new(StepSource::Annotation, Some(phase));
        let Some((_, fields)) = name.split_once('[') else { return Some(mark) };
        mark.batch = field(fields, "bs");
        let tokens = field(fields, "tok").or_else(|| field(fields, "toks"));
        match phase {
            Phase::Prefill => mark.prefill_tokens = tokens,
            Phase::Decode => mark.decode_tokens = tokens,
            Phase::Mixed => {}
        }
        mark.context_tokens = field(fields, "sk");
        Some(mark)
    }
}

/// Returns the phase at the start of a text, as a whole word: `decode_step#3` has one, `decoder` has none.
pub(crate) fn phase_at_start(text: &str) -> Option<Phase> {
    Phase::ALL.iter().copied().find(|phase| {
        let rest = text.strip_prefix(phase.as_str());
        rest.is_some_and(|rest| !rest.starts_with(|letter: char| letter.is_alphanumeric()))
    })
}

fn of_vllm(name: &str) -> Option<Mark> {
    let rest = name.strip_prefix("execute_")?;
    // With details, the total number of tokens comes first.
    let (number, after) = rest.split_at(rest.bytes().take_while(u8::is_ascii_digit).count());
    let rest = if number.is_empty() { rest } else { after.strip_prefix('_')? };
    let (prompts, rest) = counts(rest.strip_prefix("context_")?)?;
    let (generation, _) = counts(rest.strip_prefix("_generation_")?)?;
    let phase = match (prompts.requests > 0, generation.requests > 0) {
        (true, true) => Some(Phase::Mixed),
        (true, false) => Some(Phase::Prefill),
        (false, true) => Some(Phase::Decode),
        (false, false) => None,
    };
    let context = [prompts.context, generation.context].into_iter().flatten().reduce(u64::saturating_add);
    Some(Mark {
        batch: Some(prompts.requests.saturating_add(generation.requests)),
        prefill_tokens: Some(prompts.tokens),
        decode_tokens: Some(generation.tokens),
        context_tokens: context,
        ..Mark::new(StepSource::Vllm, phase)
    })
}

/// One half of a vLLM mark.
struct Counts {
    requests: u64,
    tokens: u64,
    context: Option<u64>,
}

/// Parses `3(17)`, `3(17_289)` or `3(sq17sk40sqsq289sqsk680)`, and returns the rest of the text.
fn counts(text: &str) -> Option<(Counts, &str)> {
    let (requests, rest) = text.split_once('(')?;
    let (inside, rest) = rest.split_once(')')?;
    let requests = number(requests)?;
    let (tokens, after) = match inside.strip_prefix("sq") {
        Some(inside) => leading_number(inside)?,
        None => leading_number(inside)?,
    };
    let context = after.strip_prefix("sk").and_then(leading_number).map(|(context, _)| context);
    Some((Counts { requests, tokens, context }, rest))
}

fn of_sglang(fields: &str) -> Mark {
    let mode = fields.split([' ', ']']).next().unwrap_or_default();
    let phase = match mode {
        "MIXED" => Some(Phase::Mixed),
        "DECODE" | "TARGET_VERIFY" => Some(Phase::Decode),
        mode if mode.contains("EXTEND") || mode.contains("PREFILL") => Some(Phase::Prefill),
        _ => None,
    };
    let batch = field(fields, "bs");
    let tokens = field(fields, "toks");
    let mut mark = Mark { batch, ..Mark::new(StepSource::Sglang, phase) };
    match phase {
        Some(Phase::Prefill) => mark.prefill_tokens = tokens.or_else(|| field(fields, "c_sq")),
        // Without speculative decoding, a sequence gets one token.
        Some(Phase::Decode) => mark.decode_tokens = tokens.or_else(|| field(fields, "g_sq")).or(batch),
        Some(Phase::Mixed) => {
            mark.prefill_tokens = field(fields, "c_sq");
            mark.decode_tokens = field(fields, "g_sq");
        }
        None => {}
    }
    let context = [field(fields, "c_sk"), field(fields, "g_sk")];
    mark.context_tokens = context.into_iter().flatten().reduce(u64::saturating_add);
    mark
}

/// Returns the number after `key=`, where the key is a whole word.
fn field(fields: &str, key: &str) -> Option<u64> {
    let value = fields.split([' ', ']']).find_map(|word| word.strip_prefix(key)?.strip_prefix('='))?;
    leading_number(value).map(|(number, _)| number)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Parses a number of digits only. Returns `None` if it is too large.
fn number(text: &str) -> Option<u64> {
    is_number(text).then(|| text.parse().ok()).flatten()
}

/// Returns the number at the start of a text, and the rest.
fn leading_number(text: &str) -> Option<(u64, &str)> {
    let (digits, rest) = text.split_at(text.bytes().take_while(u8::is_ascii_digit).count());
    Some((number(digits)?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Phase, batch, prompt tokens, generated tokens, context tokens.
    type Parsed = (Option<Phase>, Option<u64>, Option<u64>, Option<u64>, Option<u64>);

    fn parsed(name: &str) -> Option<Parsed> {
        let mark = Mark::of_name(name).or_else(|| Mark::of_annotation(name))?;
        Some((mark.phase, mark.batch, mark.prefill_tokens, mark.decode_tokens, mark.context_tokens))
    }

    #[test]
    fn names_of_vllm_are_parsed() {
        let prefill = Some(Phase::Prefill);
        assert_eq!(
            parsed("execute_context_2(14721)_generation_0(0)"),
            Some((prefill, Some(2), Some(14721), Some(0), None))
        );
        assert_eq!(
            parsed("execute_context_1(888_788544)_generation_0(0)"),
            Some((prefill, Some(1), Some(888), Some(0), None))
        );
        assert_eq!(
            parsed("execute_context_1(sq5sk5sqsq25sqsk25)_generation_0(sq0sk0sqsq0sqsk0)"),
            Some((prefill, Some(1), Some(5), Some(0), Some(5)))
        );
        assert_eq!(
            parsed("execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)"),
            Some((Some(Phase::Decode), Some(32), Some(0), Some(32), Some(55086)))
        );
        assert_eq!(
            parsed(
                "execute_8192_context_9(sq8155sk8430sqsq7475785sqsk7671310)_generation_37(sq37sk34489sqsq37sqsk34489)"
            ),
            Some((Some(Phase::Mixed), Some(46), Some(8155), Some(37), Some(42919)))
        );
        assert_eq!(parsed("execute_context_0(0)_generation_0(0)").map(|parsed| parsed.0), Some(None));
    }

    #[test]
    fn names_of_sglang_are_parsed() {
        assert_eq!(
            parsed("step[EXTEND bs=15 toks=15360]"),
            Some((Some(Phase::Prefill), Some(15), Some(15360), None, None))
        );
        assert_eq!(parsed("step[DECODE bs=32]"), Some((Some(Phase::Decode), Some(32), None, Some(32), None)));
        assert_eq!(
            parsed("step[DECODE bs=64 g_sq=128 g_sqsq=256 g_sqsk=262144 g_sk=131072]"),
            Some((Some(Phase::Decode), Some(64), None, Some(128), Some(131072)))
        );
        assert_eq!(
            parsed("step[MIXED bs=2 c=1 g=1 c_sq=5 c_sk=8 c_sqsq=25 c_sqsk=40 g_sq=1 g_sk=12 g_sqsq=1 g_sqsk=12]"),
            Some((Some(Phase::Mixed), Some(2), Some(5), Some(1), Some(20)))
        );
        assert_eq!(parsed("step[IDLE bs=0]"), Some((None, Some(0), None, None, None)));
    }

    #[test]
    fn annotations_and_profiler_steps_are_parsed() {
        assert_eq!(parsed("decode_step#3"), Some((Some(Phase::Decode), None, None, None, None)));
        assert_eq!(
            parsed("decode[bs=117/128 tok=117 d=117]"),
            Some((Some(Phase::Decode), Some(117), None, Some(117), None))
        );
        assert_eq!(Mark::of_name("ProfilerStep#12").map(|mark| mark.source), Some(StepSource::Profiler));
        for name in
            ["decoder", "prefilled", "ProfilerStep#", "ProfilerStep#x", "Optimizer.step#SGD.step", "## step 0 ##"]
        {
            assert_eq!(parsed(name), None, "{name}");
        }
    }

    #[test]
    fn malformed_names_are_rejected() {
        let names = [
            "execute_",
            "execute_context_",
            "execute_context_1",
            "execute_context_1(",
            "execute_context_1(5)",
            "execute_context_1(5)_generation_",
            "execute_context_1(5)_generation_x(1)",
            "execute_context_99999999999999999999(5)_generation_0(0)",
            "execute_99999999999999999999_contextual",
            "execute_model",
        ];
        for name in names {
            assert_eq!(Mark::of_name(name), None, "{name}");
        }
        let largest = format!("execute_context_{0}({0})_generation_{0}({0})", u64::MAX);
        assert_eq!(Mark::of_name(&largest).and_then(|mark| mark.batch), Some(u64::MAX));
        assert_eq!(Mark::of_name("step[").map(|mark| mark.phase), Some(None));
        assert_eq!(parsed("step[DECODE bs=99999999999999999999]").and_then(|parsed| parsed.1), None);
    }

    proptest! {
        #[test]
        fn arbitrary_names_do_not_panic(name in "(execute_|step\\[|decode|context_|_generation_|sq|sk|bs=|[0-9()\\[\\]_ =ä]){0,12}") {
            let _ = Mark::of_name(&name);
            let _ = Mark::of_annotation(&name);
        }
    }
}
