//! Finds the captured graph of a replay.

use super::align::align;
use super::graph::{CapturedGraph, CapturedNode, NodeKind};
use super::replays::Replay;
use crate::kineto;
use ferrum_trace_model::{StringId, Trace};
use hashbrown::HashMap;

/// Maximum number of nodes and kernels of a replay that may have no counterpart.
const EDITS_MAX: usize = 400;
/// Maximum number of graphs that are compared with a replay.
const GRAPHS_MAX: usize = 64;

/// The captured graph of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Match {
    /// Index of the graph.
    pub graph: usize,
    /// Indices of nodes and of the kernels that they became.
    pub pairs: Vec<(usize, usize)>,
}

/// Condition on the name of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// Any name: the capture states none.
    Any,
    /// This name.
    Name(StringId),
    /// A name that the trace of replays does not have.
    Absent,
}

/// Properties of a replay that determine its match: candidates, position, and the names of its kernels.
type Key = (Vec<usize>, Vec<StringId>);

/// Matches replays with graphs. Replays with the same kernels are aligned once.
pub(super) struct Matcher<'a> {
    trace: &'a Trace,
    graphs: &'a [CapturedGraph],
    /// One list per graph, one entry per node.
    expected: Vec<Vec<Expected>>,
    kinds: [(Option<StringId>, NodeKind); 4],
    known: HashMap<Key, Option<Match>>,
}

impl<'a> Matcher<'a> {
    pub(super) fn new(trace: &'a Trace, graphs: &'a [CapturedGraph]) -> Self {
        let expected = |node: &CapturedNode| match &node.kernel {
            None => Expected::Any,
            Some(name) => trace.strings.find(name).map_or(Expected::Absent, Expected::Name),
        };
        let kinds = [
            (kineto::MEMCPY, NodeKind::Copy),
            (kineto::MEMCPY_2021, NodeKind::Copy),
            (kineto::MEMSET, NodeKind::Set),
            (kineto::MEMSET_2021, NodeKind::Set),
        ];
        Self {
            trace,
            graphs,
            expected: graphs.iter().map(|graph| graph.nodes.iter().map(expected).collect()).collect(),
            kinds: kinds.map(|(category, kind)| (trace.strings.find(category), kind)),
            known: HashMap::new(),
        }
    }

    /// Returns the graph that fits best; `None` if none was captured for its size, or if less than half of it fits.
    pub(super) fn of(&mut self, replay: &Replay) -> Option<Match> {
        let candidates = self.candidates(replay);
        let names = replay.works.iter().map(|&work| self.trace.slices.name[work as usize]).collect();
        let key = (candidates, names);
        if let Some(found) = self.known.get(&key) {
            return found.clone();
        }
        let found = self.best(&key.0, replay);
        self.known.insert(key, found.clone());
        found
    }

    /// Returns the graphs that a replay may be of, the most probable first: those that were captured for the smallest
    /// size that is at least its own, starting with the one at its position in the step. Engines pad batches up to the
    /// next captured size. A graph or a replay of unknown size fits any other.
    fn candidates(&self, replay: &Replay) -> Vec<usize> {
        let batches = || self.graphs.iter().map(|graph| graph.batch);
        let next = |size: u64| batches().flatten().filter(|&batch| batch >= size).min();
        let is_size_known = replay.sizes.iter().any(Option::is_some);
        let wanted = replay.sizes.iter().flatten().find_map(|&size| next(size));
        let fits = |batch: Option<u64>| batch.is_none() || !is_size_known || batch == wanted;
        let mut candidates: Vec<usize> =
            batches().enumerate().filter(|(_, batch)| fits(*batch)).map(|(graph, _)| graph).collect();
        if !candidates.is_empty() {
            let first = replay.position % candidates.len();
            candidates.rotate_left(first);
        }
        candidates
    }

    fn best(&self, candidates: &[usize], replay: &Replay) -> Option<Match> {
        let mut best: Option<(usize, Match)> = None;
        for &graph in candidates.iter().take(GRAPHS_MAX) {
            let Some((n_left, found)) = self.aligned(graph, replay) else { continue };
            if best.as_ref().is_none_or(|(fewest, _)| n_left < *fewest) {
                best = Some((n_left, found));
            }
            if n_left == 0 {
                break;
            }
        }
        best.map(|(_, found)| found)
    }

    /// Aligns a replay with a graph. Returns the number of nodes and kernels without a counterpart, and the pairs.
    fn aligned(&self, graph: usize, replay: &Replay) -> Option<(usize, Match)> {
        let (nodes, expected) = (&self.graphs.get(graph)?.nodes, self.expected.get(graph)?);
        let (n_nodes, n_works) = (nodes.len(), replay.works.len());
        // Without names, nothing shows where nodes are missing.
        let is_unnamed = expected.iter().all(|expected| *expected == Expected::Any);
        // With more edits than this, less than half would correspond.
        let edits_max = if is_unnamed { 0 } else { EDITS_MAX.min(n_nodes.min(n_works)) };
        let pairs = align(n_nodes, n_works, edits_max, |node, work| {
            let work = replay.works[work] as usize;
            let is_kind = nodes[node].kind == self.kind(work);
            match expected[node] {
                Expected::Any => is_kind,
                Expected::Name(name) => name == self.trace.slices.name[work],
                Expected::Absent => false,
            }
        })?;
        let is_good = 2 * pairs.len() >= n_nodes.max(n_works);
        let n_left = n_nodes + n_works - 2 * pairs.len();
        is_good.then_some((n_left, Match { graph, pairs }))
    }

    /// Returns the kind of a slice that is device work.
    fn kind(&self, work: usize) -> NodeKind {
        let category = Some(self.trace.slices.category[work]);
        let copy = self.kinds.iter().find(|(known, _)| *known == category);
        copy.map_or(NodeKind::Kernel, |&(_, kind)| kind)
    }
}
