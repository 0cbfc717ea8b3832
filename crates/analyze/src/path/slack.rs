//! Slack of nodes: the time by which each can take longer without making the window longer.

use super::graph::{Graph, Point};
use super::retime::{Order, cost_within};
use super::window::Window;

/// Latest times of a node that do not make the window longer.
#[derive(Clone, Copy, Debug)]
struct Latest {
    /// Latest start.
    start: i64,
    /// Latest finish.
    finish: i64,
}

/// Returns the slack of the nodes of an order, in that order.
pub(super) fn slacks(graph: &Graph, window: &Window, order: &Order) -> Vec<i64> {
    let cost = |node: u32| cost_within(window, node, &graph.nodes[node as usize]);
    let mut latest = vec![Latest { start: i64::MAX, finish: i64::MAX }; order.nodes.len()];
    for place in window.ends.iter().filter_map(|&node| order.place(node)) {
        latest[place].finish = window.to;
    }
    let mut found = Vec::new();
    for (place, &node) in order.nodes.iter().enumerate().rev() {
        let Latest { start, finish } = latest[place];
        let start = start.min(finish.saturating_sub(cost(node)));
        graph.dependencies(node, &mut found);
        for it in &found {
            let Some(source) = order.place(it.source) else { continue };
            let reached = start.saturating_sub(it.lag);
            let bound = match it.from {
                Point::Start => &mut latest[source].start,
                Point::Finish => &mut latest[source].finish,
            };
            *bound = (*bound).min(reached);
        }
    }
    let slack = |(&node, latest): (&u32, &Latest)| {
        let start = graph.nodes[node as usize].start.max(window.from);
        latest.finish.saturating_sub(start.saturating_add(cost(node))).max(0)
    };
    order.nodes.iter().zip(&latest).map(slack).collect()
}
