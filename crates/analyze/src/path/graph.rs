//! The graph of dependencies between pieces of work.
//!
//! A node starts when all nodes that it depends on have reached the point that the dependency states, and the lag of
//! the dependency has passed:
//!
//! ```text
//! start(node) = max over dependencies (start or finish of the source + lag)
//! ```
//!
//! Of the dependencies of a node, the one whose source was reached last is the *binding* one: its lag is the time that
//! remains to the recorded start, so the graph reproduces the recording exactly. The lag of any other dependency cannot
//! be observed; it is the typical lag of its kind, or less if the recording shows less.

use super::node::{Cause, Node, NodeKind};
use super::works::DELAY_MAX;
use ferrum_trace_model::TrackId;

/// The graph of a trace. Nodes are grouped by track and sorted by start.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
    /// Index of the first node of each track; one more entry marks the end.
    pub(super) first_of_track: Vec<u32>,
    /// True for tracks of devices.
    pub(super) is_device_track: Vec<bool>,
    /// Dependencies other than the order on a track, by target.
    pub(super) edges: Vec<Edge>,
    /// Nodes whose cause is not in the file, sorted. They start no earlier than recorded.
    pub(super) outside: Vec<u32>,
    pub(super) typical: TypicalLags,
}

/// A dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edge {
    pub(crate) target: u32,
    pub(crate) source: u32,
    pub(crate) from: Point,
    pub(crate) kind: EdgeKind,
}

/// Point of the source of a dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Point {
    Start,
    Finish,
}

/// Kind of a dependency. Of two whose sources are reached at the same time, the later kind in this list is binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EdgeKind {
    /// From the begin of a launch to the work.
    Launch,
    /// From the thread that sends a message to the slice that records it.
    Message,
    /// Order of a thread.
    Program,
    /// Order of a stream, or a wait of a stream for another one.
    Stream,
    /// From the cause of a wait to its end.
    Caused(Cause),
}

/// A dependency of a node with its lag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) source: u32,
    pub(crate) from: Point,
    pub(crate) kind: EdgeKind,
    /// Time between the point of the source and the earliest start of the node.
    pub(crate) lag: i64,
}

/// Medians of the lags of binding dependencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TypicalLags {
    launch: i64,
    stream: i64,
}

impl Graph {
    /// Returns the nodes of a track.
    pub(crate) fn of_track(&self, track: TrackId) -> std::ops::Range<usize> {
        let at = |place: usize| self.first_of_track.get(place).map_or(self.nodes.len(), |&first| first as usize);
        at(track.index())..at(track.index() + 1)
    }

    /// Returns the first node of a track that starts at a time or later.
    pub(crate) fn node_from(&self, track: TrackId, time: i64) -> Option<u32> {
        let range = self.of_track(track);
        let place = range.start + self.nodes[range.clone()].partition_point(|node| node.start < time);
        (place < range.end).then_some(place as u32)
    }

    /// Returns the last node of a track that starts before a time.
    pub(crate) fn node_before(&self, track: TrackId, time: i64) -> Option<u32> {
        let range = self.of_track(track);
        let n_before = self.nodes[range.clone()].partition_point(|node| node.start < time);
        (n_before > 0).then(|| (range.start + n_before - 1) as u32)
    }

    /// Returns true if the cause of a node is not in the file.
    pub(crate) fn is_from_outside(&self, node: u32) -> bool {
        self.outside.binary_search(&node).is_ok()
    }

    /// Returns the time at which a point of a node was reached in the recording.
    pub(crate) fn reached(&self, source: u32, from: Point) -> i64 {
        let node = &self.nodes[source as usize];
        match from {
            Point::Start => node.start,
            Point::Finish => node.finish(),
        }
    }

    /// Collects the dependencies of a node, the binding one first. No dependency of a node from outside is binding.
    pub(crate) fn dependencies(&self, node: u32, found: &mut Vec<Dependency>) {
        self.sources(node, found);
        let start = self.nodes[node as usize].start;
        let is_from_outside = self.is_from_outside(node);
        for (place, it) in found.iter_mut().enumerate() {
            let available = start.saturating_sub(self.reached(it.source, it.from));
            let is_binding = place == 0 && !is_from_outside;
            it.lag = if is_binding { available } else { self.typical.of(it.kind).min(available) };
        }
    }

    /// Collects the dependencies of a node that the recorded times support, the binding one first, without lags.
    fn sources(&self, node: u32, found: &mut Vec<Dependency>) {
        found.clear();
        found.extend(self.in_order(node));
        let first = self.edges.partition_point(|edge| edge.target < node);
        let own = self.edges[first..].iter().take_while(|edge| edge.target == node);
        found.extend(own.map(|edge| Dependency { source: edge.source, from: edge.from, kind: edge.kind, lag: 0 }));
        let start = self.nodes[node as usize].start;
        found.retain(|it| self.reached(it.source, it.from) <= start);
        let binding = (0..found.len()).max_by_key(|&place| {
            let it = &found[place];
            (self.reached(it.source, it.from), it.kind)
        });
        if let Some(binding) = binding {
            found.swap(0, binding);
        }
    }

    /// Returns the dependency on the node before on the same track.
    fn in_order(&self, node: u32) -> Option<Dependency> {
        let track = self.nodes[node as usize].track;
        let source = node.checked_sub(1).filter(|&source| self.nodes[source as usize].track == track)?;
        let is_device = self.is_device_track[track.index()];
        let kind = if is_device { EdgeKind::Stream } else { EdgeKind::Program };
        // Work that overlaps the work before it depends on the start of that.
        let overlaps = self.nodes[source as usize].end > self.nodes[node as usize].start;
        let from = if overlaps { Point::Start } else { Point::Finish };
        Some(Dependency { source, from, kind, lag: 0 })
    }

    /// Computes the typical lags.
    pub(super) fn find_typical(&mut self) {
        let (mut launches, mut gaps, mut found) = (Vec::new(), Vec::new(), Vec::new());
        for (node, it) in self.nodes.iter().enumerate().filter(|(_, it)| it.kind == NodeKind::Device) {
            self.sources(node as u32, &mut found);
            let Some(binding) = found.first() else { continue };
            let lag = it.start.saturating_sub(self.reached(binding.source, binding.from));
            match binding.kind {
                EdgeKind::Launch if lag <= DELAY_MAX => launches.push(lag),
                EdgeKind::Stream if lag <= DELAY_MAX && binding.from == Point::Finish => gaps.push(lag),
                _ => {}
            }
        }
        self.typical = TypicalLags { launch: median(&mut launches), stream: median(&mut gaps) };
    }
}

impl TypicalLags {
    fn of(self, kind: EdgeKind) -> i64 {
        match kind {
            EdgeKind::Launch => self.launch,
            EdgeKind::Stream => self.stream,
            EdgeKind::Message | EdgeKind::Program | EdgeKind::Caused(_) => 0,
        }
    }
}

fn median(lags: &mut [i64]) -> i64 {
    if lags.is_empty() {
        return 0;
    }
    let middle = lags.len() / 2;
    *lags.select_nth_unstable(middle).1
}
