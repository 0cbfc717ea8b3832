//! Whether the slices of a track can be drawn: no two of them overlap in part, and of those that begin together the
//! outer one comes first.

use std::cmp::Reverse;

/// A slice: when it begins and ends, in nanoseconds.
pub type Interval = (u64, u64);

/// What is wrong with the slices of one track, given in the order of the file: the places of two that do not fit.
pub fn misfit(slices: &[Interval]) -> Option<(usize, usize)> {
    let mut order: Vec<usize> = (0..slices.len()).collect();
    order.sort_by_key(|&i| (slices[i].0, Reverse(slices[i].1), i));
    let began_together = order.windows(2).find(|pair| {
        let (outer, inner) = (slices[pair[0]], slices[pair[1]]);
        outer.0 == inner.0 && pair[0] > pair[1] && outer.1 > inner.1
    });
    if let Some(pair) = began_together {
        return Some((pair[0], pair[1]));
    }
    let mut open: Vec<usize> = Vec::new();
    for i in order {
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

#[cfg(test)]
mod tests {
    use super::misfit;

    #[test]
    fn what_nests_touches_or_is_apart_fits() {
        assert_eq!(misfit(&[(2, 3), (0, 10), (3, 10), (10, 20), (15, 15), (30, 31)]), None);
        assert_eq!(misfit(&[(5, 9), (5, 9), (5, 6), (5, 5)]), None);
    }

    #[test]
    fn an_overlap_by_one_is_found() {
        assert_eq!(misfit(&[(10, 21), (0, 11)]), Some((1, 0)));
    }

    #[test]
    fn the_inner_one_first_is_found() {
        assert_eq!(misfit(&[(5, 6), (5, 7)]), Some((1, 0)));
        assert_eq!(misfit(&[(5, 6), (5, 8), (5, 7)]), Some((2, 0)));
    }
}
