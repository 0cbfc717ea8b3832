//! Replays of graphs: the device work of each launch.

use crate::launches::device_work::works_of;
use crate::launches::launchers::{Launcher, Launchers, WorkIds};
use crate::steps::{Mark, StepLookup, find};
use ferrum_trace_model::Trace;
use std::collections::BTreeMap;

/// Part of the names of calls that launch a graph.
const GRAPH_LAUNCH: &str = "GraphLaunch";

/// One launch of a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Replay {
    /// Sizes of its step that a graph may be captured for: tokens, and sequences.
    pub sizes: [Option<u64>; 2],
    /// Position among the launches of graphs in its step.
    pub position: usize,
    /// Its device work, by start.
    pub works: Vec<u32>,
}

/// Returns the replays of a trace, by the start of their launches.
pub(super) fn replays(trace: &Trace) -> Vec<Replay> {
    let found = find(trace);
    let lookup = StepLookup::of(trace, found.steps.iter().map(|step| step.slice));
    let mut n_in_step: BTreeMap<u32, usize> = BTreeMap::new();
    let mut replays = Vec::new();
    for ((start, launch), mut works) in works_by_launch(trace) {
        let step = lookup.step_at(trace, trace.slices.track[launch as usize], start);
        let position = step.map_or(0, |step| {
            let n_before = n_in_step.entry(step).or_default();
            *n_before += 1;
            *n_before - 1
        });
        let mark = step.and_then(|step| found.steps.get(step as usize)).map(|step| step.mark);
        works.sort_by_key(|&work| (trace.slices.start[work as usize], work));
        replays.push(Replay { sizes: mark.map_or([None; 2], sizes), position, works });
    }
    replays
}

/// Returns the device work of each launch of a graph, by the start of the launch.
fn works_by_launch(trace: &Trace) -> BTreeMap<(i64, u32), Vec<u32>> {
    let on_device = works_of(trace);
    let launchers = Launchers::of(trace, &on_device);
    let mut ids = WorkIds::of(trace);
    let mut by_launch: BTreeMap<(i64, u32), Vec<u32>> = BTreeMap::new();
    for (work, _) in on_device.iter().enumerate().filter(|(_, device)| device.is_some()) {
        if let Launcher::Call(call) = ids.launcher(&launchers, trace.slices.order[work])
            && trace.strings.get(trace.slices.name[call as usize]).contains(GRAPH_LAUNCH)
        {
            by_launch.entry((trace.slices.start[call as usize], call)).or_default().push(work as u32);
        }
    }
    by_launch
}

fn sizes(mark: Mark) -> [Option<u64>; 2] {
    let tokens = [mark.prefill_tokens, mark.decode_tokens].into_iter().flatten().reduce(u64::saturating_add);
    [tokens, mark.batch]
}
