//! Walks back along binding dependencies: the critical path.

use super::graph::{Dependency, EdgeKind, Graph, Point};
use super::node::{Cause, NONE, Node, NodeKind};
use super::piece::{Piece, PieceKind};
use super::timing::Timing;
use super::works::DELAY_MAX;

/// Returns the pieces of the critical path that ends with a node, in time order. They cover the time from `from` to
/// `to` without gap or overlap.
pub(super) fn walk(graph: &Graph, times: &impl Timing, (from, to): (i64, i64), last: Option<u32>) -> Vec<Piece> {
    let mut path = Path { graph, from, now: to, pieces: Vec::new() };
    match last {
        Some(last) => path.follow(times, last),
        None => path.push(from, PieceKind::Unexplained, NONE, None),
    }
    path.pieces.reverse();
    path.pieces
}

/// A path that grows towards earlier times.
struct Path<'a> {
    graph: &'a Graph,
    from: i64,
    /// Start of the earliest piece so far.
    now: i64,
    /// Pieces, the latest first.
    pieces: Vec<Piece>,
}

impl Path<'_> {
    fn follow(&mut self, times: &impl Timing, last: u32) {
        let graph = self.graph;
        let mut node = last;
        let mut found = Vec::new();
        self.push(times.end(node), PieceKind::Unexplained, NONE, Some(node));
        // Each node occurs once, unless nodes without duration depend on each other in a circle.
        for _ in 0..=graph.nodes.len() {
            let own = &graph.nodes[node as usize];
            self.push(times.start(node), kind_of_node(own), own.slice, Some(node));
            if self.now <= self.from {
                return;
            }
            let binding = match graph.is_from_outside(node) {
                true => None,
                false => times.binding(graph, node, &mut found),
            };
            let Some(binding) = binding else { break };
            let reached = times.reached(&binding);
            let (kind, slice) = kind_of_lag(graph, node, &binding, self.now.saturating_sub(reached));
            self.push(reached, kind, slice, Some(node));
            node = binding.source;
        }
        let is_outside = graph.is_from_outside(node);
        let kind = if is_outside { PieceKind::OutsideFile } else { PieceKind::Unexplained };
        self.push(self.from, kind, NONE, Some(node));
    }

    /// Adds a piece that starts at a time, if the path has not come that far. Pieces of one slice are joined.
    fn push(&mut self, start: i64, kind: PieceKind, slice: u32, node: Option<u32>) {
        let start = start.max(self.from);
        if start >= self.now {
            return;
        }
        let track = node.map_or(ferrum_trace_model::TrackId(0), |node| self.graph.nodes[node as usize].track);
        let slice = (slice != NONE).then_some(slice);
        match self.pieces.last_mut() {
            Some(later) if (later.kind, later.slice, later.track) == (kind, slice, track) => later.start = start,
            _ => self.pieces.push(Piece { start, end: self.now, kind, slice, track }),
        }
        self.now = start;
    }
}

/// Returns the kind of the time between the source of a dependency and a node, and the slice that it belongs to.
pub(super) fn kind_of_lag(graph: &Graph, node: u32, it: &Dependency, lag: i64) -> (PieceKind, u32) {
    let (source, target) = (&graph.nodes[it.source as usize], &graph.nodes[node as usize]);
    let kind = match it.kind {
        EdgeKind::Program => PieceKind::Unexplained,
        // The work before still runs.
        EdgeKind::Stream if it.from == Point::Start => return (kind_of_node(source), source.slice),
        EdgeKind::Stream if lag <= DELAY_MAX => PieceKind::DeviceGap,
        EdgeKind::Launch if lag.saturating_sub(source.cost()) <= DELAY_MAX => PieceKind::LaunchDelay,
        EdgeKind::Stream | EdgeKind::Launch => PieceKind::Unexplained,
        EdgeKind::Message => PieceKind::ThreadWait,
        EdgeKind::Caused(cause) => kind_of_cause(cause),
    };
    (kind, target.slice)
}

/// Returns the kind of the time of a node.
pub(super) fn kind_of_node(node: &Node) -> PieceKind {
    match node.kind {
        NodeKind::Host => PieceKind::HostWork,
        NodeKind::Device => PieceKind::DeviceWork,
        NodeKind::Wait(cause) | NodeKind::Return(cause) => kind_of_cause(cause),
        NodeKind::Lock => PieceKind::LockWait,
        NodeKind::Uncaused => PieceKind::Unexplained,
        NodeKind::OutsideFile => PieceKind::OutsideFile,
    }
}

fn kind_of_cause(cause: Cause) -> PieceKind {
    match cause {
        Cause::Stream => PieceKind::StreamWait,
        Cause::Copy => PieceKind::CopyWait,
        Cause::Thread => PieceKind::ThreadWait,
        Cause::Rank => PieceKind::RankWait,
    }
}
