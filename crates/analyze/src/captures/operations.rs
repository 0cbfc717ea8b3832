//! Operations of replays: those that were around the launches of the captured graph.

use super::graph::CapturedGraph;
use super::matching::Match;
use super::replays::Replay;
use crate::kineto::INPUT_ARGS;
use ferrum_trace_model::{ArgValue, StringId, Strings};
use hashbrown::HashMap;

/// An operation of one replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReplayedOperation {
    /// Its name.
    pub(crate) name: StringId,
    /// Its arguments [`INPUT_ARGS`].
    pub(crate) inputs: [Option<ArgValue>; INPUT_ARGS.len()],
    /// Index of the operation around it.
    pub(crate) around: Option<u32>,
    /// Slice of its first kernel or copy.
    pub(crate) first_work: u32,
}

/// Operations of the replays of a trace, as their captures have them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplayedOperations {
    /// All of them, each after the operation around it.
    pub(crate) operations: Vec<ReplayedOperation>,
    /// The innermost operation of kernels and copies, by slice.
    pub(crate) of_work: HashMap<u32, u32>,
}

/// Name and arguments of an operation of a graph.
type Description = (StringId, [Option<ArgValue>; INPUT_ARGS.len()]);

/// Adds the operations of replays.
pub(super) struct Adder<'a> {
    graphs: &'a [CapturedGraph],
    /// Of each operation of each graph.
    descriptions: Vec<Vec<Description>>,
    found: &'a mut ReplayedOperations,
}

impl<'a> Adder<'a> {
    pub(super) fn new(graphs: &'a [CapturedGraph], strings: &mut Strings, found: &'a mut ReplayedOperations) -> Self {
        let of_graph = |graph: &CapturedGraph| {
            let all = graph.operations.iter().map(|it| {
                let inputs = it.inputs.each_ref().map(|text| Some(ArgValue::intern(text.as_ref()?, strings)));
                (strings.intern(&it.name), inputs)
            });
            all.collect()
        };
        Self { graphs, descriptions: graphs.iter().map(of_graph).collect(), found }
    }

    /// Adds the operations of a replay that matches a graph.
    pub(super) fn add(&mut self, replay: &Replay, found: Option<&Match>) {
        let Some(Match { graph, pairs }) = found else { return };
        let (Some(captured), Some(descriptions)) = (self.graphs.get(*graph), self.descriptions.get(*graph)) else {
            return;
        };
        let mut known: HashMap<u32, u32> = HashMap::new();
        for &(node, work) in pairs {
            let work = replay.works[work];
            // From the innermost operation outwards, up to one that is known.
            let around = |&it: &u32| captured.operations[it as usize].around;
            let chain: Vec<u32> = std::iter::successors(captured.nodes[node].in_operation, around).collect();
            for &operation in chain.iter().rev() {
                if known.contains_key(&operation) {
                    continue;
                }
                let (name, inputs) = descriptions[operation as usize];
                let around = around(&operation).and_then(|it| known.get(&it).copied());
                known.insert(operation, self.found.operations.len() as u32);
                self.found.operations.push(ReplayedOperation { name, inputs, around, first_work: work });
            }
            let innermost = chain.first().and_then(|operation| known.get(operation));
            self.found.of_work.extend(innermost.map(|&operation| (work, operation)));
        }
    }
}
