//! Time in which nothing is recorded, by what is around it.

use ferrum_trace_model::StringId;
use hashbrown::HashMap;
use std::cmp::Reverse;

/// Where a gap is: after which name and before which. `None` is the beginning or the end of what was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GapPlace {
    /// What ended where the gap begins.
    pub after: Option<StringId>,
    /// What began where it ends.
    pub before: Option<StringId>,
}

/// Gaps at one place. Times are nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GapSum {
    /// Where they are.
    pub place: GapPlace,
    /// How many there are.
    pub count: u64,
    /// How long they are together.
    pub total: i64,
    /// How long the longest is.
    pub longest: i64,
}

/// Gaps, by their places.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gaps {
    sums: HashMap<GapPlace, GapSum>,
}

impl Gaps {
    /// Adds a gap.
    pub(crate) fn add(&mut self, place: GapPlace, length: i64) {
        let sum = self.sums.entry(place).or_insert(GapSum { place, count: 0, total: 0, longest: 0 });
        sum.count += 1;
        sum.total = sum.total.saturating_add(length);
        sum.longest = sum.longest.max(length);
    }

    /// Those that sum to the most, first.
    pub(crate) fn into_sorted(self) -> Vec<GapSum> {
        let mut sums: Vec<GapSum> = self.sums.into_values().collect();
        sums.sort_unstable_by_key(|sum| (Reverse(sum.total), sum.place));
        sums
    }
}

/// Finds the gaps that stretches leave in the time from `from` to `to`. Stretches must come by their start; what is
/// beyond the time does not count.
pub(crate) fn find_gaps(
    (from, to): (i64, i64),
    stretches: impl Iterator<Item = (i64, i64, StringId)>,
    mut found: impl FnMut(GapPlace, i64),
) {
    let (mut covered_to, mut after) = (from, None);
    for (start, end, name) in stretches {
        if start >= to {
            break;
        }
        if start > covered_to {
            found(GapPlace { after, before: Some(name) }, start.saturating_sub(covered_to));
        }
        if end > covered_to {
            (covered_to, after) = (end, Some(name));
        }
    }
    if covered_to < to {
        found(GapPlace { after, before: None }, to.saturating_sub(covered_to));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_known_by_what_is_around_them() {
        let [a, b] = [StringId(1), StringId(2)];
        let mut gaps = Gaps::default();
        let mut order = Vec::new();
        let stretches = [(5, 20, a), (8, 12, b), (15, 25, b), (40, 60, a), (90, 200, b)];
        find_gaps((0, 100), stretches.into_iter(), |place, length| {
            order.push(length);
            gaps.add(place, length);
        });
        find_gaps((0, 3), [(3, 9, a)].into_iter(), |place, length| gaps.add(place, length));
        assert_eq!(order, [5, 15, 30]);
        let sum = |after, before, count, total, longest| {
            let place = GapPlace { after, before };
            GapSum { place, count, total, longest }
        };
        let expected = [
            sum(Some(a), Some(b), 1, 30, 30),
            sum(Some(b), Some(a), 1, 15, 15),
            sum(None, Some(a), 1, 5, 5),
            sum(None, None, 1, 3, 3),
        ];
        assert_eq!(gaps.into_sorted(), expected);
    }
}
