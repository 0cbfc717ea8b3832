//! Times of the calls of operations.

use super::missing::Missing;
use super::operations::{Operations, Outcome};
use super::surroundings::{NONE, Surroundings};
use crate::captures::ReplayedOperations;
use crate::kineto::RUNTIMES;
use crate::launches::device_work::DeviceKey;
use crate::launches::launching_slices::launching_slices;
use crate::structure::nesting::Nesting;
use ferrum_trace_model::{StringId, Trace};
use hashbrown::HashMap;

/// A call of a modelled operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Call {
    /// Index of its model.
    pub(super) model: u32,
    /// True if it lies in no other modelled operation.
    pub(super) is_outermost: bool,
    /// Time in which any of its device work runs, or its duration if the trace has no device work.
    pub(super) time: i64,
    /// Number that identifies the names of its device work, in order.
    pub(super) kernels: u32,
    /// Its first device work, or itself.
    pub(super) first_work: u32,
}

/// Time without a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unknown {
    /// Name of the operation, or of the kernel if no operation launched it.
    pub(super) name: StringId,
    /// The reason.
    pub(super) missing: Missing,
    /// Its time.
    pub(super) time: i64,
}

/// Calls of a trace, and time without a model.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Calls of modelled operations.
    pub(super) calls: Vec<Call>,
    /// Device work, or self time of operations, in no modelled operation.
    pub(super) unknown: Vec<Unknown>,
}

impl Calls {
    /// Measures the operations of a trace: by their device work, or by their own duration if there is none in the file.
    pub(super) fn of(
        trace: &Trace,
        nesting: &Nesting,
        operations: &Operations,
        replayed: &ReplayedOperations,
        on_device: &[Option<DeviceKey>],
    ) -> Self {
        let around = Surroundings::of(trace, nesting, operations);
        if on_device.iter().all(Option::is_none) {
            return if launches_kernels(trace) {
                unmeasured(trace, operations, &around)
            } else {
                on_host(trace, nesting, operations, &around)
            };
        }
        let (works, found) = (Vec::new(), Self::default());
        let mut measured = OnDevice { trace, operations, replayed, around: &around, works, found };
        let launching = launching_slices(trace, nesting, on_device);
        for (work, _) in on_device.iter().enumerate().filter(|(_, device)| device.is_some()) {
            measured.add(work, Some(launching[work]).filter(|&slice| slice != NONE));
        }
        measured.finish()
    }
}

/// Returns true if calls of a trace launch kernels. Operations around them end before their work does.
fn launches_kernels(trace: &Trace) -> bool {
    let runtimes = RUNTIMES.map(|category| trace.strings.find(category));
    let is_launch = |(&name, category): (&StringId, &StringId)| {
        runtimes.contains(&Some(*category)) && trace.strings.get(name).contains("Launch")
    };
    trace.slices.name.iter().zip(&trace.slices.category).any(is_launch)
}

/// Returns all outermost operations without a time of their work, which is not in the file.
fn unmeasured(trace: &Trace, operations: &Operations, around: &Surroundings) -> Calls {
    let mut found = Calls::default();
    for (slice, &outcome) in operations.of_slice.iter().enumerate() {
        if matches!(outcome, Outcome::Modelled(_)) && around.outermost[slice] == slice as u32 {
            let (name, time) = (trace.slices.name[slice], trace.slices.duration[slice]);
            found.unknown.push(Unknown { name, missing: Missing::NoDeviceWork, time });
        }
    }
    found
}

/// Returns the durations of modelled operations, and the self times of all others that lie in none.
fn on_host(trace: &Trace, nesting: &Nesting, operations: &Operations, around: &Surroundings) -> Calls {
    let mut found = Calls::default();
    for (slice, &outcome) in operations.of_slice.iter().enumerate() {
        let is_in_model = around.outermost[slice] != NONE;
        match outcome {
            Outcome::Modelled(model) => found.calls.push(Call {
                model,
                is_outermost: around.outermost[slice] == slice as u32,
                time: trace.slices.duration[slice],
                kernels: 0,
                first_work: slice as u32,
            }),
            Outcome::Missing(missing) if !is_in_model => {
                let (name, time) = (trace.slices.name[slice], nesting.self_time[slice]);
                found.unknown.push(Unknown { name, missing, time });
            }
            Outcome::Missing(_) | Outcome::NoOperation => {}
        }
    }
    found
}

/// Device work of operations.
struct OnDevice<'a> {
    trace: &'a Trace,
    operations: &'a Operations,
    replayed: &'a ReplayedOperations,
    around: &'a Surroundings,
    /// Pairs of an operation and device work that it launched. The operations of replayed graphs are numbered after
    /// the slices.
    works: Vec<(u32, u32)>,
    found: Calls,
}

impl OnDevice<'_> {
    /// Adds device work and the slice that launched it.
    fn add(&mut self, work: usize, launcher: Option<u32>) {
        let is_graph = launcher.is_some_and(|slice| self.is_graph_launch(slice));
        let launcher = launcher.filter(|_| !is_graph);
        let n_before = self.works.len();
        let replayed = self.replayed.of_work.get(&(work as u32)).copied().filter(|_| is_graph);
        self.works.extend(self.modelled_replayed(replayed).map(|operation| (operation, work as u32)));
        if let Some(launcher) = launcher {
            self.works.extend(self.around.modelled_around(launcher).map(|operation| (operation, work as u32)));
        }
        let is_modelled = matches!(self.operations.of_slice[work], Outcome::Modelled(_));
        match (self.works.len() > n_before, is_modelled) {
            (true, _) => {}
            (false, true) => self.works.push((work as u32, work as u32)),
            (false, false) => match replayed {
                Some(operation) => self.add_unknown_replayed(work, operation as usize),
                None => self.add_unknown(work, launcher, is_graph),
            },
        }
    }

    /// Returns the modelled operations of a replayed graph, from an operation outwards.
    fn modelled_replayed(&self, innermost: Option<u32>) -> impl Iterator<Item = u32> + use<> {
        let chain = std::iter::successors(innermost, |&it| self.replayed.operations[it as usize].around);
        let is_modelled = |it: &u32| matches!(self.operations.of_replayed[*it as usize], Outcome::Modelled(_));
        let n_slices = self.trace.slices.len() as u32;
        let found: Vec<u32> = chain.filter(is_modelled).map(|it| n_slices + it).collect();
        found.into_iter()
    }

    fn add_unknown_replayed(&mut self, work: usize, operation: usize) {
        let missing = match self.operations.of_replayed[operation] {
            Outcome::Missing(missing) => missing,
            _ => Missing::ReplayedGraph,
        };
        let (name, time) = (self.replayed.operations[operation].name, self.trace.slices.duration[work]);
        self.found.unknown.push(Unknown { name, missing, time });
    }

    fn is_graph_launch(&self, slice: u32) -> bool {
        self.trace.strings.get(self.trace.slices.name[slice as usize]).contains("GraphLaunch")
    }

    /// Adds device work without a model, by the name of the operation that launched it.
    fn add_unknown(&mut self, work: usize, launcher: Option<u32>, is_graph: bool) {
        let operation = launcher.map_or(NONE, |slice| self.around.operation[slice as usize]);
        let place = if operation == NONE { work } else { operation as usize };
        let missing = match self.operations.of_slice[place] {
            Outcome::Missing(missing) => missing,
            _ if is_graph => Missing::ReplayedGraph,
            _ => Missing::NoOperation,
        };
        let (name, time) = (self.trace.slices.name[place], self.trace.slices.duration[work]);
        self.found.unknown.push(Unknown { name, missing, time });
    }

    /// Returns the calls with the union of the times of their device work.
    fn finish(mut self) -> Calls {
        let slices = &self.trace.slices;
        self.works.sort_unstable_by_key(|&(operation, work)| (operation, slices.start[work as usize], work));
        let mut known_kernels: HashMap<Vec<StringId>, u32> = HashMap::new();
        for works in self.works.chunk_by(|one, other| one.0 == other.0) {
            let Some(&(operation, first_work)) = works.first() else { continue };
            let Some((Outcome::Modelled(model), is_outermost)) = self.outcome(operation) else { continue };
            let names: Vec<StringId> = works.iter().map(|&(_, work)| slices.name[work as usize]).collect();
            let n_known = known_kernels.len() as u32;
            self.found.calls.push(Call {
                model,
                is_outermost,
                time: union(works.iter().map(|&(_, work)| (slices.start[work as usize], slices.end(work as usize)))),
                kernels: *known_kernels.entry(names).or_insert(n_known),
                first_work,
            });
        }
        self.found
    }

    /// Returns the result for an operation, and true if it lies in no other modelled one.
    fn outcome(&self, operation: u32) -> Option<(Outcome, bool)> {
        match self.operations.of_slice.get(operation as usize) {
            Some(&outcome) => Some((outcome, self.around.outermost[operation as usize] == operation)),
            None => {
                let replayed = operation.checked_sub(self.trace.slices.len() as u32)?;
                let around = self.replayed.operations.get(replayed as usize)?.around;
                let is_outermost = self.modelled_replayed(around).next().is_none();
                Some((*self.operations.of_replayed.get(replayed as usize)?, is_outermost))
            }
        }
    }
}

/// Returns the time in which any of some intervals is open. They must be sorted by start.
fn union(intervals: impl Iterator<Item = (i64, i64)>) -> i64 {
    let (mut sum, mut covered_to) = (0_i64, i64::MIN);
    for (start, end) in intervals {
        let start = start.max(covered_to);
        if start < end {
            sum = sum.saturating_add(end.saturating_sub(start));
            covered_to = end;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_in_which_two_kernels_run_counts_once() {
        assert_eq!(union([(0, 10), (5, 12), (6, 8), (20, 25)].into_iter()), 17);
        assert_eq!(union(std::iter::empty()), 0);
        assert_eq!(union([(i64::MIN, i64::MAX)].into_iter()), i64::MAX);
    }
}
