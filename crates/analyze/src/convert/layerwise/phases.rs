//! Steps of an engine, and their phases.

use super::roles::NONE;
use crate::kineto::STEP_PREFIX;
use crate::steps::{MarkedSlice, StepSource, find};
use ferrum_trace_model::vocab::Phase;
use ferrum_trace_model::{ProcessId, Trace};

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Its slice.
    pub slice: u32,
    pub process: ProcessId,
    pub start: i64,
    pub end: i64,
    pub phase: Phase,
    /// Number of sequences that take part, if the trace has it.
    pub batch: Option<u64>,
    /// Number of prompt tokens that are computed.
    pub prefill_tokens: Option<u64>,
    /// Number of generated tokens.
    pub decode_tokens: Option<u64>,
}

/// Steps of a trace, in time order.
#[derive(Clone, Debug, Default)]
pub(super) struct Steps {
    pub list: Vec<Step>,
}

impl Steps {
    /// Finds the marked steps. Steps of torch's profiler have no phase, so they do not count.
    pub(super) fn of(trace: &Trace) -> Self {
        let marked = find(trace).steps.into_iter().filter(|found| found.mark.source != StepSource::Profiler);
        let list = marked.map(|MarkedSlice { slice, mark, .. }| {
            let n = slice as usize;
            Step {
                slice,
                process: trace.tracks.get(trace.slices.track[n]).process,
                start: trace.slices.start[n],
                end: trace.slices.end(n),
                phase: mark.phase.unwrap_or(Phase::Decode),
                batch: mark.batch,
                prefill_tokens: mark.prefill_tokens,
                decode_tokens: mark.decode_tokens,
            }
        });
        Self { list: list.collect() }
    }

    /// Returns true if there are no steps, so that the whole trace counts as one.
    pub(super) fn is_whole(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the step that runs at a time, preferably one of the process.
    pub(super) fn at(&self, time: i64, process: Option<ProcessId>) -> Option<&Step> {
        /// Maximum number of earlier steps that are tested; engines that overlap steps have few at a time.
        const TESTED_MAX: usize = 64;
        let n_begun = self.list.partition_point(|step| step.start <= time);
        let running = || self.list[..n_begun].iter().rev().take(TESTED_MAX).filter(|step| step.end >= time);
        running().find(|step| Some(step.process) == process).or_else(|| running().next())
    }
}

/// Returns true if a name is that of a step of torch's profiler, which has no phase.
pub(super) fn is_profiler_step(name: &str) -> bool {
    name.starts_with(STEP_PREFIX)
}

/// A phase of the profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProfilePhase {
    /// `prefill`, or `decode_N`.
    pub name: String,
    /// Indices of its steps; empty for the whole trace.
    pub steps: Vec<usize>,
}

impl ProfilePhase {
    /// Returns the root slices of its trees; [`NONE`] for the whole trace.
    pub(super) fn slices(&self, steps: &Steps) -> Vec<u32> {
        match &self.steps[..] {
            [] => vec![NONE],
            places => places.iter().map(|&place| steps.list[place].slice).collect(),
        }
    }
}

/// Returns the phases of a trace: all steps that compute prompts form one, as vLLM's tools require, and every other
/// step is one.
pub(super) fn phases(steps: &Steps) -> Vec<ProfilePhase> {
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

/// Returns the phase that vLLM's plot needs and that is missing: it requires both prefill and decode.
pub(super) fn missing_phase(phases: &[ProfilePhase]) -> Option<Phase> {
    [Phase::Prefill, Phase::Decode]
        .into_iter()
        .find(|phase| !phases.iter().any(|present| present.name.starts_with(phase.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

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
            decode_tokens: None,
        };
        let list = [Phase::Prefill, Phase::Decode, Phase::Mixed, Phase::Decode];
        let steps = Steps { list: (0..).zip(list).map(|(n, phase)| step(n, phase)).collect() };
        let named = |steps: &Steps| phases(steps).into_iter().map(|it| (it.name, it.steps)).collect::<Vec<_>>();
        let expected = [("prefill", vec![0, 2]), ("decode_1", vec![1]), ("decode_2", vec![3])];
        assert_eq!(named(&steps), expected.map(|(name, steps)| (name.to_owned(), steps)));
        assert_eq!(named(&Steps::default()), [("prefill".to_owned(), vec![])]);
        assert_eq!(missing_phase(&phases(&steps)), None);
        assert_eq!(missing_phase(&phases(&steps)[..1]), Some(Phase::Decode));
        assert_eq!(missing_phase(&phases(&steps)[1..]), Some(Phase::Prefill));
        assert_eq!(steps.at(15, None).map(|step| step.slice), Some(1));
        assert_eq!(steps.at(19, Some(ProcessId(4))).map(|step| step.slice), Some(1));
        assert_eq!(steps.at(-1, None), None);
    }
}
