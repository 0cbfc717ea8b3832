//! Categories of events in a trace, for messages that suggest where to look.

use ferrum_trace_model::{StringId, Trace};
use hashbrown::HashMap;
use std::cmp::Reverse;

/// Categories with their number of events, the most frequent first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Categories of slices.
    pub slices: Vec<(StringId, u64)>,
    /// Categories of async events.
    pub asyncs: Vec<(StringId, u64)>,
}

/// Counts the categories of a trace.
pub fn contents(trace: &Trace) -> Contents {
    Contents { slices: count(&trace.slices.category), asyncs: count(&trace.asyncs.category) }
}

fn count(categories: &[StringId]) -> Vec<(StringId, u64)> {
    let mut counts: HashMap<StringId, u64> = HashMap::new();
    for &category in categories {
        *counts.entry(category).or_default() += 1;
    }
    let mut counts: Vec<(StringId, u64)> = counts.into_iter().collect();
    counts.sort_unstable_by_key(|&(category, count)| (Reverse(count), category));
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_traces;

    #[test]
    fn the_most_frequent_category_is_first() {
        let trace =
            test_traces::trace(&[("1", "1", "a", "x", 0, 1), ("1", "1", "b", "x", 1, 2), ("1", "1", "b", "y", 2, 3)]);
        let found: Vec<_> = contents(&trace).slices.into_iter().map(|(id, n)| (trace.strings.get(id), n)).collect();
        assert_eq!(found, [("b", 2), ("a", 1)]);
        assert_eq!(contents(&trace).asyncs, []);
    }
}
