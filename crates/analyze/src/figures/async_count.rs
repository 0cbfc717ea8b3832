//! What is on no thread (requests, tasks), in numbers.

use ferrum_trace_model::{End, Trace};
use hashbrown::HashMap;

/// How many asynchronous things there are. Events of one category, id and name belong to one; ids that are local to a
/// process are told apart by process. The older kind (phases S, T, p, F) is not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AsyncCount {
    /// Things, whole or not, and points that are in none.
    pub groups: u64,
    /// Those of them that are points only: a point in between has a name of its own.
    pub only_points: u64,
    /// Those that begin as often as they end, and at least once.
    pub balanced: u64,
    /// Beginnings (`b`).
    pub begins: u64,
    /// Points in between (`n`).
    pub steps: u64,
    /// Ends (`e`).
    pub finishes: u64,
}

/// Counts the asynchronous things of a trace.
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
    fn things_are_balanced_that_begin_as_often_as_they_end() {
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
