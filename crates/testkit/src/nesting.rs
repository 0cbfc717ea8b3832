//! Checks that the slices of a track can be drawn: no two of them overlap partly, and of slices with the same begin the
//! outer one comes first.

use std::cmp::Reverse;

/// Begin and end of a slice in nanoseconds.
pub(crate) type Interval = (u64, u64);

/// Returns the indexes of two slices of one track that overlap partly.
pub(crate) fn overlap(slices: &[Interval]) -> Option<(usize, usize)> {
    let mut open: Vec<usize> = Vec::new();
    for i in outer_first(slices) {
        let (start, end) = slices[i];
        while open.last().is_some_and(|&outer| slices[outer].1 <= start) {
            open.pop();
        }
        match open.last() {
            Some(&outer) if slices[outer].1 < end => return Some((outer, i)),
            _ => open.push(i),
        }
    }
    None
}

/// Returns the indexes of two slices of one track that have the same begin, where the inner one comes first in the
/// file; the index of the outer one first. An inner slice of zero length only touches the other, and may be on either
/// side of it.
pub(crate) fn inner_first(slices: &[Interval]) -> Option<(usize, usize)> {
    let mut order = outer_first(slices);
    order.retain(|&i| slices[i].0 < slices[i].1);
    let wrong = order.windows(2).find(|pair| {
        let (outer, inner) = (slices[pair[0]], slices[pair[1]]);
        outer.0 == inner.0 && outer.1 > inner.1 && pair[0] > pair[1]
    });
    wrong.map(|pair| (pair[0], pair[1]))
}

/// Indexes of the slices, sorted by begin; of slices with the same begin the longer one is first.
fn outer_first(slices: &[Interval]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..slices.len()).collect();
    order.sort_by_key(|&i| (slices[i].0, Reverse(slices[i].1), i));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_that_nest_touch_or_are_disjoint_are_accepted() {
        assert_eq!(overlap(&[(2, 3), (0, 10), (3, 10), (10, 20), (15, 15), (30, 31)]), None);
        assert_eq!(inner_first(&[(5, 5), (5, 9), (5, 9), (5, 6), (5, 5)]), None);
    }

    #[test]
    fn an_overlap_of_one_nanosecond_is_found() {
        assert_eq!(overlap(&[(10, 21), (0, 11)]), Some((1, 0)));
    }

    #[test]
    fn an_inner_slice_before_its_outer_one_is_found() {
        assert_eq!(inner_first(&[(5, 6), (5, 7)]), Some((1, 0)));
        assert_eq!(inner_first(&[(5, 6), (5, 8), (5, 7)]), Some((2, 0)));
    }
}
