//! The steps of an engine, and the phases they belong to.

use super::super::kineto::{GPU_ANNOTATION, STEP_PREFIX};
use super::roles::NONE;
use ferrum_trace_model::vocab::{Phase, step};
use ferrum_trace_model::{ArgColumn, ProcessId, Trace};

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its slice.
    pub slice: u32,
    pub process: ProcessId,
    pub start: i64,
    pub end: i64,
    pub phase: Phase,
    /// How many sequences take part, if the trace says so.
    pub batch: Option<u64>,
    /// How many tokens of prompts are computed.
    pub prefill_tokens: Option<u64>,
}

/// The steps of a trace, in the order of time.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    pub list: Vec<Step>,
}

impl Steps {
    /// Finds them: our own by their category, those of vLLM and SGLang by the marks they leave.
    pub fn of(trace: &Trace) -> Self {
        let arg = |key: &str| trace.args.iter().find(|column| column.key == key);
        let columns = [arg(step::PHASE), arg(step::BATCH), arg(step::PREFILL_TOKENS)];
        let category = trace.strings.find(step::CATEGORY);
        // What the host does is told once more on the stream.
        let on_stream = trace.strings.find(GPU_ANNOTATION);
        let mut list: Vec<Step> = (0..trace.slices.len())
            .filter_map(|slice| {
                let name = trace.strings.get(trace.slices.name[slice]);
                let is_ours = category == Some(trace.slices.category[slice]);
                if on_stream == Some(trace.slices.category[slice]) {
                    return None;
                }
                let told = if is_ours { ours(trace, slice, name, columns) } else { mark(name)? };
                let process = trace.tracks.get(trace.slices.track[slice]).process;
                let (start, end) = (trace.slices.start[slice], trace.slices.end(slice));
                let Told { phase, batch, prefill_tokens } = told;
                Some(Step { slice: slice as u32, process, start, end, phase, batch, prefill_tokens })
            })
            .collect();
        list.sort_by_key(|step| (step.start, step.slice));
        Self { list }
    }

    /// Whether no step is known, so that the whole trace stands for one.
    pub fn is_whole(&self) -> bool {
        self.list.is_empty()
    }

    /// The step that is running at a time, if one is: one of the process before any other.
    pub fn at(&self, time: i64, process: Option<ProcessId>) -> Option<&Step> {
        /// Steps that began before and may last still; engines that overlap them have few at a time.
        const ASKED_MAX: usize = 64;
        let n_begun = self.list.partition_point(|step| step.start <= time);
        let running = || self.list[..n_begun].iter().rev().take(ASKED_MAX).filter(|step| step.end >= time);
        running().find(|step| Some(step.process) == process).or_else(|| running().next())
    }
}

/// What a step says of itself.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    phase: Phase,
    batch: Option<u64>,
    prefill_tokens: Option<u64>,
}

fn ours(trace: &Trace, slice: usize, name: &str, columns: [Option<&ArgColumn>; 3]) -> Told {
    let order = trace.slices.order[slice];
    let [phase, batch, prefill_tokens] = columns.map(|column| Some(trace.strings.get(column?.of(order)?)));
    let number = |text: Option<&str>| text?.parse().ok();
    let phase = phase.and_then(Phase::from_text).or_else(|| Phase::from_text(name));
    Told { phase: phase.unwrap_or(Phase::Decode), batch: number(batch), prefill_tokens: number(prefill_tokens) }
}

/// What the name of a mark says, such as `execute_context_1(64)_generation_3(3)` of vLLM or `step[DECODE bs=4 toks=4]` of
/// SGLang.
fn mark(name: &str) -> Option<Told> {
    if let Some(rest) = name.strip_prefix("step[") {
        let word = rest.split([' ', ']']).next()?;
        let phase = match word {
            "DECODE" => Phase::Decode,
            "EXTEND" | "PREFILL" => Phase::Prefill,
            "MIXED" => Phase::Mixed,
            _ => return None,
        };
        let number = |key: &str| rest.split([' ', ']']).find_map(|part| part.strip_prefix(key)?.parse().ok());
        return Some(Told { phase, batch: number("bs="), prefill_tokens: None });
    }
    let (context, generation) = name.strip_prefix("execute_context_")?.split_once("_generation_")?;
    let number = |text: &str| text.split('(').next()?.parse::<u64>().ok();
    let (n_context, n_generation) = (number(context)?, number(generation)?);
    let phase = match (n_context, n_generation) {
        (0, _) => Phase::Decode,
        (_, 0) => Phase::Prefill,
        _ => Phase::Mixed,
    };
    let tokens = context.split_once('(').and_then(|(_, rest)| rest.trim_end_matches(')').parse().ok());
    Some(Told { phase, batch: n_context.checked_add(n_generation), prefill_tokens: tokens })
}

/// Whether a slice is a step of torch's profiler, which tells nothing of phases.
pub fn is_profiler_step(name: &str) -> bool {
    name.starts_with(STEP_PREFIX)
}

/// A phase of the profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfilePhase {
    /// `prefill`, or `decode_N`.
    pub name: String,
    /// Its steps, by their places; none means the whole trace.
    pub steps: Vec<usize>,
}

impl ProfilePhase {
    /// The slices that its trees stand below; [`NONE`] if that is the whole trace.
    pub fn slices(&self, steps: &Steps) -> Vec<u32> {
        match &self.steps[..] {
            [] => vec![NONE],
            places => places.iter().map(|&place| steps.list[place].slice).collect(),
        }
    }
}

/// The phases of a trace: all that computes prompts is one, as vLLM's tools want it, and every other step is one.
pub fn phases(steps: &Steps) -> Vec<ProfilePhase> {
    let is_decode = |n: &usize| steps.list[*n].phase == Phase::Decode;
    let (decode, prefill): (Vec<usize>, Vec<usize>) = (0..steps.list.len()).partition(is_decode);
    let mut phases = Vec::new();
    if !prefill.is_empty() || steps.is_whole() {
        phases.push(ProfilePhase { name: Phase::Prefill.as_str().to_owned(), steps: prefill });
    }
    let of_step = |(n, step)| ProfilePhase { name: format!("{}_{n}", Phase::Decode), steps: vec![step] };
    phases.extend((1..).zip(decode).map(of_step));
    phases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_other_engines_are_steps() {
        let told = |phase, batch, prefill_tokens| Some(Told { phase, batch: Some(batch), prefill_tokens });
        assert_eq!(mark("execute_context_1(64)_generation_0(0)"), told(Phase::Prefill, 1, Some(64)));
        assert_eq!(mark("execute_context_0(0)_generation_3(3)"), told(Phase::Decode, 3, Some(0)));
        assert_eq!(mark("execute_context_2(9)_generation_3(3)"), told(Phase::Mixed, 5, Some(9)));
        assert_eq!(mark("step[DECODE bs=4 toks=4]"), told(Phase::Decode, 4, None));
        assert_eq!(mark("step[EXTEND bs=1 toks=99]"), told(Phase::Prefill, 1, None));
        for name in ["", "step[", "step[IDLE]", "execute_context_", "execute_context_x_generation_1", "decode"] {
            assert_eq!(mark(name), None, "{name}");
        }
    }

    #[test]
    fn prompts_are_one_phase_and_every_decode_step_is_another() {
        let step = |slice: u32, phase| Step {
            slice,
            process: ProcessId(0),
            start: i64::from(slice) * 10,
            end: i64::from(slice) * 10 + 9,
            phase,
            batch: None,
            prefill_tokens: None,
        };
        let list = [Phase::Prefill, Phase::Decode, Phase::Mixed, Phase::Decode];
        let steps = Steps { list: (0..).zip(list).map(|(n, phase)| step(n, phase)).collect() };
        let named = |steps: &Steps| phases(steps).into_iter().map(|it| (it.name, it.steps)).collect::<Vec<_>>();
        let expected = [("prefill", vec![0, 2]), ("decode_1", vec![1]), ("decode_2", vec![3])];
        assert_eq!(named(&steps), expected.map(|(name, steps)| (name.to_owned(), steps)));
        assert_eq!(named(&Steps::default()), [("prefill".to_owned(), vec![])]);
        assert_eq!(steps.at(15, None).map(|step| step.slice), Some(1));
        assert_eq!(steps.at(19, Some(ProcessId(4))).map(|step| step.slice), Some(1));
        assert_eq!(steps.at(-1, None), None);
    }
}
