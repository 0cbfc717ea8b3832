//! Whether the slices of a track can be drawn: no two of them overlap in part, and of those that begin together the
//! outer one comes first.

use std::cmp::Reverse;

/// A slice: when it begins and ends, in nanoseconds.
pub type Interval = (u64, u64);

/// Two slices of one track that overlap in part, by their places.
pub fn overlap(slices: &[Interval]) -> Option<(usize, usize)> {
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

/// Two slices of one track that begin together, of which the inner one comes first in the file: their places, that of the
/// outer one first. An inner one without a length touches the other, and may be on either side of it.
pub fn inner_first(slices: &[Interval]) -> Option<(usize, usize)> {
    let mut order = outer_first(slices);
    order.retain(|&i| slices[i].0 < slices[i].1);
    let wrong = order.windows(2).find(|pair| {
        let (outer, inner) = (slices[pair[0]], slices[pair[1]]);
        outer.0 == inner.0 && outer.1 > inner.1 && pair[0] > pair[1]
    });
    wrong.map(|pair| (pair[0], pair[1]))
}

/// The places of the slices, by their begin, and of those that begin together the longer one first.
fn outer_first(slices: &[Interval]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..slices.len()).collect();
    order.sort_by_key(|&i| (slices[i].0, Reverse(slices[i].1), i));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nests_touches_or_is_apart_fits() {
        assert_eq!(overlap(&[(2, 3), (0, 10), (3, 10), (10, 20), (15, 15), (30, 31)]), None);
        assert_eq!(inner_first(&[(5, 5), (5, 9), (5, 9), (5, 6), (5, 5)]), None);
    }

    #[test]
    fn an_overlap_by_one_is_found() {
        assert_eq!(overlap(&[(10, 21), (0, 11)]), Some((1, 0)));
    }

    #[test]
    fn the_inner_one_first_is_found() {
        assert_eq!(inner_first(&[(5, 6), (5, 7)]), Some((1, 0)));
        assert_eq!(inner_first(&[(5, 6), (5, 8), (5, 7)]), Some((2, 0)));
    }
}
