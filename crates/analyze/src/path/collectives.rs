//! Collectives of several ranks in one trace: no rank is done before the last one has begun.

use crate::kineto::{GLOO_PREFIX, GROUP_NAME, NCCL_KERNELS, SEQUENCE};
use crate::structure::arg_reader::ArgReader;
use ferrum_trace_model::vocab::{Op, comm};
use ferrum_trace_model::{ArgValue, ProcessId, StringId, Trace};
use hashbrown::HashMap;

/// Arguments that identify a collective. They must be loaded with the trace.
pub(crate) const COLLECTIVE_ARGS: [&str; 4] = [comm::GROUP, comm::NUMBER, GROUP_NAME, SEQUENCE];

/// One collective: the slices of the processes that take part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Collective {
    /// One slice of each process.
    pub(crate) slices: Vec<u32>,
    /// Slice that begins last.
    pub(crate) last: u32,
}

/// Identity of a collective: name without the suffixes of a kernel, group, number.
type Key = (StringId, Option<ArgValue>, Number);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Number {
    /// As the trace states it.
    Stated(u64),
    /// Position among those of the process with this name and group.
    Counted(u32),
}

/// Finds the collectives in which at least two processes take part and that wait for all of them.
pub(crate) fn collectives(trace: &Trace) -> Vec<Collective> {
    let slices = candidates(trace);
    let has_several = slices.windows(2).any(|pair| process(trace, pair[0]) != process(trace, pair[1]));
    if !has_several {
        return Vec::new();
    }
    let mut groups: HashMap<Key, Vec<u32>> = HashMap::new();
    for (key, slice) in keys(trace, &slices) {
        groups.entry(key).or_default().push(slice);
    }
    let mut found: Vec<Collective> = groups.into_values().filter_map(|slices| collective(trace, slices)).collect();
    found.sort_unstable_by_key(|it| it.last);
    found
}

/// Returns the slices that last until their rank is done with a collective, by start.
fn candidates(trace: &Trace) -> Vec<u32> {
    let comm = trace.strings.find(Op::Comm.as_str());
    let mut waits: Vec<Option<bool>> = vec![None; trace.strings.len()];
    let mut found = Vec::new();
    for (slice, (&name, &category)) in trace.slices.name.iter().zip(&trace.slices.category).enumerate() {
        let is_own = Some(category) == comm;
        let text = trace.strings.get(name);
        let is_known = *waits[name.index()].get_or_insert_with(|| is_whole(text) && waits_for_all(text));
        if is_known || (is_own && waits_for_all(text)) {
            found.push(slice as u32);
        }
    }
    found.sort_by_key(|&slice| trace.slices.start[slice as usize]);
    found
}

/// Returns true if events of this name last until the rank is done, not only until the work is submitted.
fn is_whole(name: &str) -> bool {
    name.starts_with(GLOO_PREFIX) || NCCL_KERNELS.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns true if no rank can be done before all have begun.
fn waits_for_all(name: &str) -> bool {
    let letters: String = name.chars().filter(char::is_ascii_alphabetic).map(|it| it.to_ascii_lowercase()).collect();
    ["allreduce", "allgather", "reducescatter", "alltoall", "barrier"].iter().any(|word| letters.contains(word))
}

fn keys<'a>(trace: &'a Trace, slices: &'a [u32]) -> impl Iterator<Item = (Key, u32)> + 'a {
    let mut groups = [comm::GROUP, GROUP_NAME].map(|key| ArgReader::of(trace, key));
    let mut numbers = [comm::NUMBER, SEQUENCE].map(|key| ArgReader::of(trace, key));
    let mut counts: HashMap<(ProcessId, StringId, Option<ArgValue>), u32> = HashMap::new();
    slices.iter().map(move |&slice| {
        let (order, name) = (trace.slices.order[slice as usize], trace.slices.name[slice as usize]);
        let group = groups.iter_mut().find_map(|reader| reader.get(order));
        let number = numbers.iter_mut().find_map(|reader| reader.get(order)?.number(&trace.strings));
        let count = counts.entry((process(trace, slice), name, group)).or_default();
        *count += 1;
        ((name, group, number.map_or(Number::Counted(*count), Number::Stated)), slice)
    })
}

fn process(trace: &Trace, slice: u32) -> ProcessId {
    trace.tracks.get(trace.slices.track[slice as usize]).process
}

/// Returns the collective of slices with one key, unless a process has several of them, or only one takes part, or the
/// times contradict it.
fn collective(trace: &Trace, slices: Vec<u32>) -> Option<Collective> {
    let mut processes: Vec<ProcessId> = slices.iter().map(|&slice| process(trace, slice)).collect();
    processes.sort_unstable();
    processes.dedup();
    if slices.len() < 2 || processes.len() < slices.len() {
        return None;
    }
    let start = |slice: u32| trace.slices.start[slice as usize];
    let last = slices.iter().copied().max_by_key(|&slice| (start(slice), slice))?;
    let is_possible = slices.iter().all(|&slice| trace.slices.end(slice as usize) >= start(last));
    is_possible.then_some(Collective { slices, last })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_traces;

    #[test]
    fn the_same_collective_of_two_processes_is_found_by_its_position() {
        let trace = test_traces::trace(&[
            ("1", "1", "comm", "all_reduce", 0, 10),
            ("2", "1", "comm", "all_reduce", 4, 11),
            ("1", "1", "comm", "all_reduce", 20, 30),
            ("2", "1", "comm", "all_reduce", 15, 31),
            ("1", "1", "comm", "broadcast", 40, 50),
            ("2", "1", "comm", "broadcast", 45, 50),
            ("1", "1", "gemm", "all_reduce of nothing", 60, 70),
        ]);
        let expected = [Collective { slices: vec![0, 1], last: 1 }, Collective { slices: vec![3, 2], last: 2 }];
        assert_eq!(collectives(&trace), expected);
    }

    #[test]
    fn times_that_contradict_a_collective_leave_it_out() {
        let trace = test_traces::trace(&[("1", "1", "comm", "barrier", 0, 10), ("2", "1", "comm", "barrier", 12, 14)]);
        assert_eq!(collectives(&trace), []);
    }
}
