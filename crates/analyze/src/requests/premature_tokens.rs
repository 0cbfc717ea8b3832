//! Finds requests whose first token was recorded before it can exist.

use super::request::Request;
use crate::steps::Step;
use ferrum_trace_model::vocab::Phase;
use ferrum_trace_model::vocab::device::CLOCK_ERROR_NS;
use ferrum_trace_model::{ProcessId, Trace};
use hashbrown::HashMap;

/// Begins and earliest results of steps that compute prompts: for each process that has steps, and for all together.
pub(super) struct PromptSteps {
    processes: HashMap<ProcessId, Results>,
    everywhere: Results,
}

impl PromptSteps {
    /// Indexes steps, which must be sorted by start.
    pub(super) fn of(trace: &Trace, steps: &[Step]) -> Self {
        let error = clock_error(trace);
        let mut of_process: HashMap<ProcessId, Vec<(i64, i64)>> = HashMap::new();
        let mut everywhere = Vec::new();
        for step in steps {
            let process = trace.tracks.get(trace.slices.track[step.slice as usize]).process;
            let of_process = of_process.entry(process).or_default();
            if matches!(step.mark.phase, Some(Phase::Prefill | Phase::Mixed)) {
                // A step without device work, or with an unknown end, may have a result at any time.
                let known = step.device_end.filter(|_| !step.is_incomplete);
                let time = (step.start, known.map_or(i64::MIN, |end| end.saturating_sub(error)));
                of_process.push(time);
                everywhere.push(time);
            }
        }
        let processes = of_process.into_iter().map(|(process, times)| (process, Results::of(times))).collect();
        Self { processes, everywhere: Results::of(everywhere) }
    }

    /// Returns true if the first token of a request precedes the end of every step that can have computed its prompt.
    pub(super) fn is_early(&self, trace: &Trace, request: &Request) -> bool {
        let Some(token) = request.first_token() else { return false };
        let process = trace.tracks.get(request.track).process;
        let results = self.processes.get(&process).unwrap_or(&self.everywhere);
        results.first_since(request.arrival, token).is_some_and(|first| token < first)
    }
}

#[derive(Default)]
struct Results {
    /// Begins of steps, sorted.
    starts: Vec<i64>,
    /// Running minimum of the results from the end: the earliest result of each step and all after it.
    first_results: Vec<i64>,
}

impl Results {
    fn of(mut times: Vec<(i64, i64)>) -> Self {
        times.sort_unstable();
        let starts = times.iter().map(|&(start, _)| start).collect();
        let mut first = i64::MAX;
        let mut first_results: Vec<i64> = times
            .iter()
            .rev()
            .map(|&(_, end)| {
                first = first.min(end);
                first
            })
            .collect();
        first_results.reverse();
        Self { starts, first_results }
    }

    /// Returns the earliest result of steps that begin at `from` or later; `None` if none begins by `until`.
    fn first_since(&self, from: i64, until: i64) -> Option<i64> {
        let place = self.starts.partition_point(|&start| start < from);
        self.starts.get(place).filter(|&&start| start <= until)?;
        self.first_results.get(place).copied()
    }
}

/// Returns the largest error of device times that the trace states.
fn clock_error(trace: &Trace) -> i64 {
    let column = trace.args.iter().find(|column| column.key == CLOCK_ERROR_NS);
    let errors = column.into_iter().flat_map(|column| &column.value);
    errors.filter_map(|&value| value.content(&trace.strings).parse().ok()).max().unwrap_or(0)
}
