//! The time that a critical path covers.

use super::build::Built;
use super::node::NONE;
use crate::steps::{Measured, Step, Work as StepWork};
use ferrum_trace_model::{Trace, TrackId};
use std::cmp::Reverse;

/// A window of the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// Its begin.
    pub(crate) from: i64,
    /// Its end.
    pub(crate) to: i64,
    /// Nodes that must have finished for the window to end.
    pub(crate) ends: Vec<u32>,
}

impl Window {
    /// Returns the window of a step. `works` is the device work of the step.
    pub(crate) fn of_step(trace: &Trace, built: &Built, step: &Step, works: &[StepWork]) -> Self {
        let mark = step.slice as usize;
        let mut ends = Vec::new();
        let track = trace.slices.track[mark];
        if !built.works.is_device_track[track.index()] {
            ends.extend(built.graph.node_before(track, trace.slices.end(mark)));
        }
        ends.extend(last_of_tracks(trace, built, works));
        Self { from: step.start, to: step.end(), ends }
    }

    /// Returns the windows of all steps.
    pub(crate) fn of_steps(trace: &Trace, built: &Built, measured: &Measured) -> Vec<Self> {
        let mut rest = &measured.works[..];
        let windows = measured.steps.iter().enumerate().map(|(place, step)| {
            let n_works = rest.iter().take_while(|work| work.step as usize == place).count();
            let (own, others) = rest.split_at(n_works);
            rest = others;
            Self::of_step(trace, built, step, own)
        });
        windows.collect()
    }

    /// Returns the window of the whole trace: it ends when the last thread or stream has finished.
    pub(crate) fn whole(trace: &Trace, built: &Built) -> Self {
        let tracks = trace.tracks.iter().map(|(track, _)| built.graph.of_track(track));
        let nodes = &built.graph.nodes;
        let last = |range: std::ops::Range<usize>| range.max_by_key(|&node| (nodes[node].end, node));
        let ends: Vec<u32> = tracks.filter_map(last).map(|node| node as u32).collect();
        let from = nodes.iter().map(|node| node.start).min().unwrap_or(0);
        let to = ends.iter().map(|&node| nodes[node as usize].end).max().unwrap_or(from);
        Self { from, to, ends }
    }

    /// Returns a window of time. It ends with the work that is under way at its end on the thread `preferred`, or else
    /// with the work that ends last in it.
    pub(crate) fn of_time(trace: &Trace, built: &Built, (from, to): (i64, i64), preferred: Option<TrackId>) -> Self {
        let nodes = &built.graph.nodes;
        let before =
            |track: TrackId| built.graph.node_before(track, to).filter(|&node| nodes[node as usize].end > from);
        let last = preferred.and_then(before).or_else(|| {
            let last = trace.tracks.iter().filter_map(|(track, _)| before(track));
            last.max_by_key(|&node| (nodes[node as usize].end.min(to), Reverse(node)))
        });
        Self { from, to, ends: last.into_iter().collect() }
    }

    /// Returns the node with which the recorded path ends: the one that finishes last.
    pub(super) fn last(&self, built: &Built) -> Option<u32> {
        let end = |node: u32| built.graph.nodes[node as usize].end.min(self.to);
        self.ends.iter().copied().max_by_key(|&node| (end(node), Reverse(node)))
    }

    /// Returns its length.
    pub(crate) fn duration(&self) -> i64 {
        self.to.saturating_sub(self.from)
    }
}

/// Returns the node of each stream that ends last, of the works of a step.
fn last_of_tracks(trace: &Trace, built: &Built, works: &[StepWork]) -> Vec<u32> {
    let mut last: Vec<(TrackId, i64, u32)> = Vec::new();
    for work in works {
        let slice = work.slice as usize;
        let place = built.works.of_slice[slice];
        if place == NONE {
            continue;
        }
        let node = built.last_node_of(place);
        let (track, end) = (trace.slices.track[slice], trace.slices.end(slice));
        match last.iter_mut().find(|(known, ..)| *known == track) {
            Some(known) if known.1 <= end => *known = (track, end, node),
            Some(_) => {}
            None => last.push((track, end, node)),
        }
    }
    last.into_iter().map(|(_, _, node)| node).collect()
}
