//! Start and end times of nodes: those of the recording, or those after a change.

use super::graph::{Dependency, Graph, Point};

/// Times of the nodes of a graph.
pub(super) trait Timing {
    /// Returns the start of a node.
    fn start(&self, node: u32) -> i64;
    /// Returns the end of a node.
    fn end(&self, node: u32) -> i64;
    /// Returns the time from which dependent nodes may start.
    fn finish(&self, node: u32) -> i64;
    /// Returns the dependency that determines the start of a node. `found` is a scratch buffer.
    fn binding(&self, graph: &Graph, node: u32, found: &mut Vec<Dependency>) -> Option<Dependency>;

    /// Returns the time at which the point of a dependency is reached.
    fn reached(&self, it: &Dependency) -> i64 {
        match it.from {
            Point::Start => self.start(it.source),
            Point::Finish => self.finish(it.source),
        }
    }
}

/// Times of the recording.
pub(super) struct Recorded<'a>(pub(super) &'a Graph);

impl Timing for Recorded<'_> {
    fn start(&self, node: u32) -> i64 {
        self.0.nodes[node as usize].start
    }

    fn end(&self, node: u32) -> i64 {
        self.0.nodes[node as usize].end
    }

    fn finish(&self, node: u32) -> i64 {
        self.0.nodes[node as usize].finish()
    }

    fn binding(&self, graph: &Graph, node: u32, found: &mut Vec<Dependency>) -> Option<Dependency> {
        graph.dependencies(node, found);
        found.first().copied()
    }
}
