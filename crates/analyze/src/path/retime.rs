//! Computes the times of all nodes of a window again, after changes.

use super::graph::{Dependency, Graph};
use super::node::{NONE, Node, NodeKind};
use super::timing::Timing;
use super::window::Window;

/// A change of the graph.
pub(super) trait Change {
    /// Returns the new cost of a node; `cost` is the recorded one within the window.
    fn cost(&self, node: u32, it: &Node, cost: i64) -> i64;
    /// Returns the new lag of a dependency.
    fn lag(&self, target: u32, it: &Dependency) -> i64;
}

/// The nodes on which the end of a window depends, each after those that it depends on.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) nodes: Vec<u32>,
    /// Index in `nodes` of each node of the graph.
    place: Vec<u32>,
}

/// Marks a node that is waiting for the nodes that it depends on.
const ENTERED: u32 = NONE - 1;

impl Order {
    /// Sorts the nodes of a window.
    pub(super) fn of(graph: &Graph, window: &Window) -> Self {
        Self { nodes: Vec::new(), place: vec![NONE; graph.nodes.len()] }.with_window(graph, window)
    }

    /// Sorts the nodes of another window, and keeps the memory.
    pub(super) fn with_window(mut self, graph: &Graph, window: &Window) -> Self {
        for node in self.nodes.drain(..) {
            self.place[node as usize] = NONE;
        }
        let mut stack: Vec<(u32, bool)> = window.ends.iter().map(|&node| (node, false)).collect();
        let mut found = Vec::new();
        while let Some((node, is_done)) = stack.pop() {
            if is_done {
                self.place[node as usize] = self.nodes.len() as u32;
                self.nodes.push(node);
                continue;
            }
            if self.place[node as usize] != NONE {
                continue;
            }
            self.place[node as usize] = ENTERED;
            stack.push((node, true));
            graph.dependencies(node, &mut found);
            let inside = found.iter().map(|it| it.source).filter(|&source| {
                let it = &graph.nodes[source as usize];
                it.end > window.from || it.start >= window.from
            });
            stack.extend(inside.filter(|&source| self.place[source as usize] == NONE).map(|source| (source, false)));
        }
        self
    }

    /// Returns the position of a node, if it is in the window.
    pub(super) fn place(&self, node: u32) -> Option<usize> {
        self.place.get(node as usize).filter(|&&place| place != NONE).map(|&place| place as usize)
    }
}

/// Times after a change.
pub(super) struct Retimed<'a, C> {
    graph: &'a Graph,
    order: &'a Order,
    change: &'a C,
    /// Start and finish of each node of the order.
    times: Vec<(i64, i64)>,
}

impl<'a, C: Change> Retimed<'a, C> {
    /// Computes the times.
    pub(super) fn of(graph: &'a Graph, window: &Window, order: &'a Order, change: &'a C) -> Self {
        let mut retimed = Self { graph, order, change, times: Vec::with_capacity(order.nodes.len()) };
        let mut found = Vec::new();
        for &node in &order.nodes {
            let start = retimed.earliest_start(window, node, &mut found);
            let it = &graph.nodes[node as usize];
            let cost = change.cost(node, it, cost_within(window, node, it));
            let counted_from = if is_passive(window, node, it) { start } else { start.max(window.from) };
            retimed.times.push((start, counted_from.saturating_add(cost)));
        }
        retimed
    }

    /// Returns the end of the window: the time at which the last of its ends has finished, and that node.
    pub(super) fn end(&self, window: &Window) -> (i64, Option<u32>) {
        let last = window.ends.iter().copied().max_by_key(|&node| self.finish(node));
        (last.map_or(window.to, |node| self.finish(node)), last)
    }

    fn earliest_start(&self, window: &Window, node: u32, found: &mut Vec<Dependency>) -> i64 {
        let recorded = self.graph.nodes[node as usize].start;
        if recorded < window.from {
            return recorded;
        }
        self.graph.dependencies(node, found);
        let after = found.iter().map(|it| self.reached(it).saturating_add(self.change.lag(node, it)));
        let after = after.max().unwrap_or(recorded);
        if self.graph.is_from_outside(node) { after.max(recorded) } else { after }
    }

    fn time(&self, node: u32) -> Option<(i64, i64)> {
        self.order.place(node).and_then(|place| self.times.get(place)).copied()
    }
}

impl<C: Change> Timing for Retimed<'_, C> {
    fn start(&self, node: u32) -> i64 {
        self.time(node).map_or(self.graph.nodes[node as usize].start, |(start, _)| start)
    }

    fn end(&self, node: u32) -> i64 {
        self.finish(node)
    }

    fn finish(&self, node: u32) -> i64 {
        self.time(node).map_or_else(|| self.graph.nodes[node as usize].finish(), |(_, finish)| finish)
    }

    fn binding(&self, graph: &Graph, node: u32, found: &mut Vec<Dependency>) -> Option<Dependency> {
        graph.dependencies(node, found);
        let arrival = |it: &Dependency| self.reached(it).saturating_add(self.change.lag(node, it));
        let latest = found.iter().map(arrival).max()?;
        found.iter().find(|it| arrival(it) == latest).copied()
    }
}

/// Returns the part of a node's cost that is within a window. A wait at the end of a window takes its time there.
pub(super) fn cost_within(window: &Window, node: u32, it: &Node) -> i64 {
    if is_passive(window, node, it) {
        return 0;
    }
    it.end.min(window.to).saturating_sub(it.start.max(window.from)).max(0)
}

/// Returns true for a wait whose cause determines its end.
fn is_passive(window: &Window, node: u32, it: &Node) -> bool {
    matches!(it.kind, NodeKind::Wait(_)) && !window.ends.contains(&node)
}
