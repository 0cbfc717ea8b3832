//! Counts of flows.

use crate::structure::flow_key::flow_key;
use ferrum_trace_model::{End, Trace};
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// Number of flows. Events of one category, name and id belong to one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowCount {
    /// Flows, complete or not.
    pub groups: u64,
    /// Flows that have at least one begin and one end.
    pub complete: u64,
    /// Begins (`s`).
    pub begins: u64,
    /// Steps in between (`t`).
    pub steps: u64,
    /// Ends (`f`).
    pub finishes: u64,
}

/// Counts the flows of a trace.
pub fn count_flows(trace: &Trace) -> FlowCount {
    let flows = &trace.flows;
    let mut count = FlowCount::default();
    let mut groups: HashTable<Group> = HashTable::new();
    let hasher = DefaultHashBuilder::default();
    let hash = |group: &Group| hasher.hash_one(flow_key(flows, group.event as usize));
    for (event, &end) in flows.end.iter().enumerate() {
        // A file has fewer than four billion events.
        let new = Group { event: event as u32, has_begin: false, has_finish: false };
        let is_same = |group: &Group| flow_key(flows, group.event as usize) == flow_key(flows, event);
        let mut group = groups.entry(hash(&new), is_same, hash).or_insert(new);
        let group = group.get_mut();
        match end {
            End::Begin => (count.begins, group.has_begin) = (count.begins + 1, true),
            End::Step => count.steps += 1,
            End::Finish => (count.finishes, group.has_finish) = (count.finishes + 1, true),
        }
    }
    count.groups = groups.len() as u64;
    count.complete = groups.iter().filter(|group| group.has_begin && group.has_finish).count() as u64;
    count
}

/// A flow. Keeping the number of an event instead of the key halves the memory.
struct Group {
    /// The first event.
    event: u32,
    has_begin: bool,
    has_finish: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_distinguished_by_category_name_and_id() {
        let mut trace = Trace::default();
        let [a, b] = ["a", "b"].map(|text| trace.strings.intern(text));
        let ends = [
            (a, a, a, End::Begin),
            (a, a, a, End::Step),
            (a, a, a, End::Finish),
            (a, a, a, End::Finish),
            (b, a, a, End::Begin),
            (a, b, a, End::Finish),
            (a, a, b, End::Step),
        ];
        for (category, name, id, end) in ends {
            trace.flows.category.push(category);
            trace.flows.name.push(name);
            trace.flows.id.push(id);
            trace.flows.end.push(end);
        }
        let expected = FlowCount { groups: 4, complete: 1, begins: 2, steps: 2, finishes: 3 };
        assert_eq!(count_flows(&trace), expected);
        assert_eq!(count_flows(&Trace::default()), FlowCount::default());
    }
}
