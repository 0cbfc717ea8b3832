//! Counts of async events.

use ferrum_trace_model::{End, Trace};
use hashbrown::HashMap;

/// Number of async operations. Events of one category, id and name belong to one operation; ids that are local to a
/// process are distinguished by process. The legacy phases S, T, p, F are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AsyncCount {
    /// Operations, complete or not, and points that belong to none.
    pub groups: u64,
    /// Operations that consist of points only: a point (`n`) has a separate name.
    pub only_points: u64,
    /// Operations with as many begins as ends, and at least one.
    pub balanced: u64,
    /// Begins (`b`).
    pub begins: u64,
    /// Points (`n`).
    pub steps: u64,
    /// Ends (`e`).
    pub finishes: u64,
}

/// Counts the async operations of a trace.
pub fn count_asyncs(trace: &Trace) -> AsyncCount {
    let asyncs = &trace.asyncs;
    let mut count = AsyncCount::default();
    let mut groups: HashMap<_, (u64, u64)> = HashMap::new();
    for (event, &end) in asyncs.end.iter().enumerate().filter(|(event, _)| !asyncs.is_legacy[*event]) {
        let (begins, finishes) =
            groups.entry((asyncs.category[event], asyncs.id[event], asyncs.name[event])).or_default();
        match end {
            End::Begin => (count.begins, *begins) = (count.begins + 1, *begins + 1),
            End::Step => count.steps += 1,
            End::Finish => (count.finishes, *finishes) = (count.finishes + 1, *finishes + 1),
        }
    }
    count.groups = groups.len() as u64;
    count.only_points = groups.values().filter(|counts| **counts == (0, 0)).count() as u64;
    count.balanced = groups.values().filter(|(begins, finishes)| begins == finishes && *begins > 0).count() as u64;
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_with_as_many_begins_as_ends_are_balanced() {
        let mut trace = Trace::default();
        let ids = ["whole", "twice begun", "point", "older"].map(|text| trace.strings.intern(text));
        let [whole, twice_begun, point, older] = ids;
        let events = [
            (whole, End::Begin, false),
            (whole, End::Step, false),
            (whole, End::Finish, false),
            (twice_begun, End::Begin, false),
            (twice_begun, End::Begin, false),
            (twice_begun, End::Finish, false),
            (point, End::Step, false),
            (older, End::Begin, true),
            (older, End::Finish, true),
        ];
        for (id, end, is_legacy) in events {
            trace.asyncs.category.push(whole);
            trace.asyncs.name.push(whole);
            trace.asyncs.id.push(id);
            trace.asyncs.end.push(end);
            trace.asyncs.is_legacy.push(is_legacy);
        }
        let expected = AsyncCount { groups: 3, only_points: 1, balanced: 1, begins: 3, steps: 2, finishes: 2 };
        assert_eq!(count_asyncs(&trace), expected);
    }
}
