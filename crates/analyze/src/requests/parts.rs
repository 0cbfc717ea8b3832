//! Parts of a request's time.

use super::request::{Request, StageKind};
use crate::steps::Step;
use ferrum_trace_model::vocab::Phase;
use ferrum_trace_model::{ProcessId, Trace};
use hashbrown::HashMap;
use std::ops::Range;

/// Part of a request's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Waiting for the first run.
    Queue,
    /// Steps that compute prompts, while its own prompt is computed; all of that time if the trace has no steps.
    Prefill,
    /// Steps that compute no prompt, while it waits for the rest of its own prompt.
    OthersDecode,
    /// Steps that compute only prompts of other requests, while it waits for its next token.
    OthersPrefill,
    /// Steps that generate a token for it and compute prompts of other requests.
    Mixed,
    /// Steps that only generate tokens; all of the decode time if the trace has no steps.
    Decode,
    /// Preempted: its cache was taken away.
    Preempted,
    /// In prefill or decode while no step runs.
    BetweenSteps,
    /// In no recorded stage.
    Unexplained,
}

impl Part {
    /// All parts, in the order of reports.
    pub const ALL: [Self; 9] = [
        Self::Queue,
        Self::Prefill,
        Self::OthersDecode,
        Self::OthersPrefill,
        Self::Mixed,
        Self::Decode,
        Self::Preempted,
        Self::BetweenSteps,
        Self::Unexplained,
    ];

    /// Returns its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Prefill => "prefill",
            Self::OthersDecode => "others_decode",
            Self::OthersPrefill => "others_prefill",
            Self::Mixed => "mixed",
            Self::Decode => "decode",
            Self::Preempted => "preempted",
            Self::BetweenSteps => "between_steps",
            Self::Unexplained => "unexplained",
        }
    }
}

/// The parts of a request's time. They sum to its latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    times: [i64; Part::ALL.len()],
}

impl Parts {
    /// Returns one part.
    pub fn get(&self, part: Part) -> i64 {
        self.times[part as usize]
    }

    /// Returns the sum of all parts.
    pub fn sum(&self) -> i64 {
        self.times.iter().fold(0, |sum: i64, &time| sum.saturating_add(time))
    }

    /// Adds the parts of another request.
    pub(crate) fn add_all(&mut self, other: &Self) {
        for (time, other) in self.times.iter_mut().zip(other.times) {
            *time = time.saturating_add(other);
        }
    }

    fn add(&mut self, part: Part, time: i64) {
        let sum = &mut self.times[part as usize];
        *sum = sum.saturating_add(time);
    }
}

/// Timelines of steps: for each process that has steps, and for all together.
pub(super) struct Timelines {
    processes: HashMap<ProcessId, Timeline>,
    everywhere: Timeline,
}

impl Timelines {
    /// Builds the timelines of steps, which must be sorted by start.
    pub(super) fn of(trace: &Trace, steps: &[Step]) -> Self {
        let mut of_process: HashMap<ProcessId, Vec<&Step>> = HashMap::new();
        for step in steps {
            let track = trace.slices.track[step.slice as usize];
            of_process.entry(trace.tracks.get(track).process).or_default().push(step);
        }
        let processes = of_process.into_iter().map(|(process, steps)| (process, Timeline::of(steps.into_iter())));
        Self { processes: processes.collect(), everywhere: Timeline::of(steps.iter()) }
    }

    /// Returns the parts of a request's time, based on the steps of its process, or on all steps if it has none.
    pub(super) fn parts(&self, trace: &Trace, request: &Request) -> Parts {
        let mut parts = Parts::default();
        let Some(end) = request.end else { return parts };
        let process = trace.tracks.get(request.track).process;
        let timeline = self.processes.get(&process).unwrap_or(&self.everywhere);
        let mut now = request.arrival;
        for stage in &request.stages {
            // Where stages overlap, the earlier one gets the time.
            let from = stage.time.start.clamp(now, end.max(now));
            let to = stage.time.end.clamp(from, end.max(from));
            parts.add(Part::Unexplained, from.saturating_sub(now));
            timeline.add_stage(stage.kind, from..to, &mut parts);
            now = to;
        }
        parts.add(Part::Unexplained, end.saturating_sub(now).max(0));
        parts
    }
}

/// Stretches of time in which steps run, without overlaps.
#[derive(Debug, Default)]
struct Timeline {
    stretches: Vec<Stretch>,
}

#[derive(Clone, Copy, Debug)]
struct Stretch {
    start: i64,
    end: i64,
    phase: Option<Phase>,
    /// Time that each phase ran before, by [`place`].
    before: [i64; 4],
}

fn place(phase: Option<Phase>) -> usize {
    phase.map_or(0, |phase| 1 + phase as usize)
}

impl Timeline {
    /// Builds a timeline of steps in any order. Where two overlap, the one that started first gets the time.
    fn of<'a>(steps: impl Iterator<Item = &'a Step>) -> Self {
        let mut steps: Vec<&Step> = steps.collect();
        // They are sorted by the start of their marks; a device may have begun earlier.
        steps.sort_by_key(|step| step.start);
        let mut stretches: Vec<Stretch> = Vec::new();
        let mut covered_to = i64::MIN;
        let mut before = [0_i64; 4];
        for step in steps {
            let (start, end) = (step.start.max(covered_to), step.end());
            if start >= end {
                continue;
            }
            let phase = step.mark.phase;
            stretches.push(Stretch { start, end, phase, before });
            let sum = &mut before[place(phase)];
            *sum = sum.saturating_add(end.saturating_sub(start));
            covered_to = end;
        }
        Self { stretches }
    }

    /// Returns the time that each phase ran until a moment.
    fn until(&self, time: i64) -> [i64; 4] {
        let n_started = self.stretches.partition_point(|stretch| stretch.start < time);
        let Some(latest) = n_started.checked_sub(1).and_then(|place| self.stretches.get(place)) else { return [0; 4] };
        let mut sums = latest.before;
        let sum = &mut sums[place(latest.phase)];
        *sum = sum.saturating_add(time.min(latest.end).saturating_sub(latest.start));
        sums
    }

    /// Adds the parts of one stage of a request.
    fn add_stage(&self, kind: StageKind, time: Range<i64>, parts: &mut Parts) {
        let length = time.end.saturating_sub(time.start);
        let whole = match kind {
            StageKind::Queued => Some(Part::Queue),
            StageKind::Preempted => Some(Part::Preempted),
            StageKind::Prefill if self.stretches.is_empty() => Some(Part::Prefill),
            StageKind::Decode if self.stretches.is_empty() => Some(Part::Decode),
            StageKind::Prefill | StageKind::Decode => None,
        };
        if let Some(part) = whole {
            parts.add(part, length);
            return;
        }
        let (from, to) = (self.until(time.start), self.until(time.end));
        let mut rest = length;
        for phase in [None, Some(Phase::Prefill), Some(Phase::Decode), Some(Phase::Mixed)] {
            let ran = to[place(phase)].saturating_sub(from[place(phase)]);
            let part = match (kind, phase) {
                (StageKind::Prefill, Some(Phase::Decode)) => Part::OthersDecode,
                (StageKind::Prefill, _) => Part::Prefill,
                (_, Some(Phase::Prefill)) => Part::OthersPrefill,
                (_, Some(Phase::Mixed)) => Part::Mixed,
                (_, Some(Phase::Decode) | None) => Part::Decode,
            };
            parts.add(part, ran);
            rest = rest.saturating_sub(ran);
        }
        parts.add(Part::BetweenSteps, rest);
    }
}
