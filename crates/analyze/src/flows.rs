//! Arrows between slices, in numbers.

use ferrum_trace_model::{End, Trace};
use hashbrown::HashMap;

/// How many arrows there are. Ends of one category, name and id belong to one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowCount {
    /// Arrows, whole or not.
    pub groups: u64,
    /// Those that have at least one beginning and one end.
    pub complete: u64,
    /// Beginnings (`s`).
    pub begins: u64,
    /// What arrows pass through (`t`).
    pub steps: u64,
    /// Ends (`f`).
    pub finishes: u64,
}

/// Counts the arrows of a trace.
pub fn count_flows(trace: &Trace) -> FlowCount {
    let flows = &trace.flows;
    let mut count = FlowCount::default();
    let mut groups: HashMap<_, (bool, bool)> = HashMap::new();
    for (event, &end) in flows.end.iter().enumerate() {
        let (has_begin, has_finish) =
            groups.entry((flows.category[event], flows.name[event], flows.id[event])).or_default();
        match end {
            End::Begin => (count.begins, *has_begin) = (count.begins + 1, true),
            End::Step => count.steps += 1,
            End::Finish => (count.finishes, *has_finish) = (count.finishes + 1, true),
        }
    }
    count.groups = groups.len() as u64;
    count.complete = groups.values().filter(|group| **group == (true, true)).count() as u64;
    count
}
