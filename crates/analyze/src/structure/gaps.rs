//! Gaps: time in which nothing is recorded, grouped by the names before and after.

use ferrum_trace_model::StringId;
use hashbrown::HashMap;
use std::cmp::Reverse;

/// Names before and after a gap. `None` is the begin or the end of the time range that was examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GapPlace {
    /// Name of the slice that ended where the gap begins.
    pub after: Option<StringId>,
    /// Name of the slice that began where the gap ends.
    pub before: Option<StringId>,
}

/// Sum of the gaps at one place. Times are nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GapSum {
    /// The place.
    pub place: GapPlace,
    /// Number of gaps.
    pub count: u64,
    /// Sum of their lengths.
    pub total: i64,
    /// Length of the longest gap.
    pub longest: i64,
}

/// Gaps, summed by place.
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

    /// Returns the sums, the largest total first.
    pub(crate) fn into_sorted(self) -> Vec<GapSum> {
        let mut sums: Vec<GapSum> = self.sums.into_values().collect();
        sums.sort_unstable_by_key(|sum| (Reverse(sum.total), sum.place));
        sums
    }
}

/// Finds the gaps that `stretches` leave between `from` and `to`. The stretches must be sorted by start; parts outside
/// the range do not count.
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
    fn gaps_are_grouped_by_the_names_around_them() {
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
