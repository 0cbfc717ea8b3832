//! Transfers the names of captured graphs to the kernels of their replays.

use super::graph::{CapturedGraph, DIMENSIONS_ARG};
use super::matching::{Match, Matcher};
use super::operations::{Adder, ReplayedOperations};
use super::replays::{Replay, replays};
use crate::figures::layer_search::LAYER_ARG;
use ferrum_trace_model::{ArgColumn, ArgValue, Order, Trace};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Argument that a kernel of a replay gets: the name of its operation.
pub const OPERATION_ARG: &str = "operation";
/// Argument that a kernel of a replay gets: the name of its module.
pub const MODULE_ARG: &str = "module";
/// Argument that a kernel of a replay gets: the dimensions of the inputs of its operation.
pub const SHAPES_ARG: &str = DIMENSIONS_ARG;

/// Result of [`transfer`]. Times are nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transfer {
    /// Number of replays.
    pub n_replays: u64,
    /// Number of replays that match no captured graph.
    pub n_unmatched_replays: u64,
    /// Number of kernels and copies of replays.
    pub n_kernels: u64,
    /// Sum of their durations.
    pub total: i64,
    /// Number of them that correspond to a node of a captured graph.
    pub n_matched: u64,
    /// Sum of the durations of these.
    pub matched_total: i64,
    /// Number of them that correspond by order alone, since the capture states no name for the kernel.
    pub n_by_order: u64,
    /// Nodes and kernels without a counterpart in replays that match a graph, the most frequent first.
    pub mismatches: Vec<Mismatch>,
}

/// A node or a kernel without a counterpart, or a pair of both.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mismatch {
    /// Index of the captured graph.
    pub graph: usize,
    /// Position among the kernels of the replay, from 0.
    pub position: usize,
    /// The node: its kernel, else its operation, else its kind; `None` if there is no node.
    pub expected: Option<String>,
    /// The kernel of the replay.
    pub found: Option<String>,
    /// Number of replays with this mismatch.
    pub count: u64,
}

/// Adds layers, operations, modules and shapes of captured graphs to the kernels of replays, as arguments
/// [`LAYER_ARG`], [`OPERATION_ARG`], [`MODULE_ARG`] and [`SHAPES_ARG`]. Columns that were not requested with the trace
/// are not added, and arguments that a kernel has are kept. [`STEP_ARGS`](crate::STEP_ARGS) must be loaded.
pub fn transfer(trace: &mut Trace, graphs: &[CapturedGraph]) -> Transfer {
    transfer_to(trace, graphs, None)
}

/// Does the same as [`transfer`], and returns the operations of all replays.
pub fn transfer_operations(trace: &mut Trace, graphs: &[CapturedGraph]) -> (Transfer, ReplayedOperations) {
    let mut operations = ReplayedOperations::default();
    let transfer = transfer_to(trace, graphs, Some(&mut operations));
    (transfer, operations)
}

fn transfer_to(trace: &mut Trace, graphs: &[CapturedGraph], operations: Option<&mut ReplayedOperations>) -> Transfer {
    let replays = replays(trace);
    let mut matcher = Matcher::new(trace, graphs);
    let matches: Vec<Option<Match>> = replays.iter().map(|replay| matcher.of(replay)).collect();
    let mut sums = Transfer { n_replays: replays.len() as u64, ..Transfer::default() };
    let mut mismatches: BTreeMap<Mismatch, u64> = BTreeMap::new();
    let mut named: Vec<(Order, usize, usize)> = Vec::new();
    for (replay, found) in replays.iter().zip(&matches) {
        sums.add_replay(trace, replay);
        let Some((found, graph)) = found.as_ref().and_then(|found| Some((found, graphs.get(found.graph)?))) else {
            sums.n_unmatched_replays += 1;
            continue;
        };
        for &(node, work) in &found.pairs {
            let slice = replay.works[work] as usize;
            sums.n_matched += 1;
            sums.matched_total = sums.matched_total.saturating_add(trace.slices.duration[slice]);
            sums.n_by_order += u64::from(graph.nodes[node].kernel.is_none());
            named.push((trace.slices.order[slice], found.graph, node));
        }
        for mismatch in mismatches_of(trace, replay, found, graph) {
            *mismatches.entry(mismatch).or_default() += 1;
        }
    }
    if let Some(operations) = operations {
        let mut adder = Adder::new(graphs, &mut trace.strings, operations);
        for (replay, found) in replays.iter().zip(&matches) {
            adder.add(replay, found.as_ref());
        }
    }
    named.sort_unstable();
    add_arguments(trace, graphs, &named);
    sums.mismatches = mismatches.into_iter().map(|(mismatch, count)| Mismatch { count, ..mismatch }).collect();
    sums.mismatches.sort_by_key(|mismatch| Reverse(mismatch.count));
    sums
}

impl Transfer {
    fn add_replay(&mut self, trace: &Trace, replay: &Replay) {
        self.n_kernels += replay.works.len() as u64;
        for &work in &replay.works {
            self.total = self.total.saturating_add(trace.slices.duration[work as usize]);
        }
    }
}

/// Returns the nodes and kernels between the pairs of a match.
fn mismatches_of(trace: &Trace, replay: &Replay, found: &Match, graph: &CapturedGraph) -> Vec<Mismatch> {
    let ends = [(graph.nodes.len(), replay.works.len())];
    let (mut next_node, mut next_work) = (0, 0);
    let mut mismatches = Vec::new();
    for &(node, work) in found.pairs.iter().chain(&ends) {
        let n_left = (node - next_node).max(work - next_work);
        for (node_left, work_left) in (next_node..).zip(next_work..).take(n_left) {
            let captured = graph.nodes.get(node_left).filter(|_| node_left < node);
            let replayed = replay.works.get(work_left).filter(|_| work_left < work);
            mismatches.push(Mismatch {
                graph: found.graph,
                position: work_left.min(work),
                expected: captured.map(|node| node.label().to_owned()),
                found: replayed.map(|&work| trace.strings.get(trace.slices.name[work as usize]).to_owned()),
                count: 0,
            });
        }
        (next_node, next_work) = (node + 1, work + 1);
    }
    mismatches
}

/// Adds the arguments of nodes, given by graph and index, to the events at these positions.
fn add_arguments(trace: &mut Trace, graphs: &[CapturedGraph], named: &[(Order, usize, usize)]) {
    let Trace { strings, args, .. } = trace;
    let mut add = |key: &str, text: &dyn Fn(usize, usize) -> Option<String>| {
        let Some(column) = args.iter_mut().find(|column| column.key == key) else { return };
        let value = |&(order, graph, node): &(Order, usize, usize)| {
            Some((order, ArgValue::intern(&text(graph, node)?, strings)))
        };
        add_values(column, named.iter().filter_map(value).collect());
    };
    add(LAYER_ARG, &|graph, node| graphs[graph].nodes[node].layer.map(|layer| layer.to_string()));
    add(OPERATION_ARG, &|graph, node| graphs[graph].nodes[node].operation.clone());
    add(MODULE_ARG, &|graph, node| graphs[graph].nodes[node].module.clone());
    add(SHAPES_ARG, &|graph, node| graphs[graph].nodes[node].shapes.clone());
}

/// Adds values, sorted by position, to the events that have none.
fn add_values(column: &mut ArgColumn, added: Vec<(Order, ArgValue)>) {
    let kept = column.order.iter().copied().zip(column.value.iter().copied());
    let mut all: Vec<(Order, ArgValue)> = kept.chain(added).collect();
    // A stable sort: of equal positions, the value of the file stays first.
    all.sort_by_key(|&(order, _)| order);
    all.dedup_by_key(|(order, _)| *order);
    (column.order, column.value) = all.into_iter().unzip();
}

#[cfg(test)]
mod tests;
