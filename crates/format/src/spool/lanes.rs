//! Distributes slices that overlap partly over lanes.
//!
//! Viewers lose or misdraw slices of one track that overlap partly. Slices of threads always nest; slices with explicit
//! times need not, so each track has lanes, and a slice goes to the first lane where it nests in, encloses or is apart
//! from every other slice. Of two slices that begin at the same time, the longer one comes first, in the file too. A
//! slice that ends where another one begins also comes first, since formats with separate begins and ends depend on
//! their order.
//!
//! The lanes of `ferrum-trace-analyze` (`structure/nesting_lanes.rs`, `convert/ordered_lanes.rs`) place slices that are
//! sorted by start. These place slices in the order in which they were recorded, in batches, so a slice may go between
//! earlier ones of its lane. This crate cannot use those: it is below them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Maximum number of slices of earlier batches that a lane remembers individually.
const REMEMBERED: usize = 4096;

/// Maximum number of lanes of a track that are searched for a place among their slices. Further lanes take a slice only
/// after all of their slices, so that the time per slice does not grow with the number of lanes.
const SEARCHED_MAX: usize = 32;

/// Begin and end in nanoseconds.
pub(crate) type Interval = (u64, u64);

/// The lanes of one track.
#[derive(Debug, Default)]
pub(crate) struct SpoolLanes {
    /// The lanes that are searched: the first ones of the track.
    lanes: Vec<Lane>,
    /// The latest end in each of the other lanes, earliest first.
    others: BinaryHeap<Reverse<(u64, usize)>>,
}

impl SpoolLanes {
    /// Assigns the slices of one batch to lanes. Returns the lane of each slice, and the indexes of all slices in the
    /// order of their begins, outer ones first.
    pub(crate) fn place(&mut self, batch: &[Interval]) -> (Vec<usize>, Vec<usize>) {
        let mut by_start: Vec<usize> = (0..batch.len()).collect();
        by_start.sort_by_key(|&i| (batch[i].0, Reverse(batch[i].1)));
        let mut lane_of = vec![0; batch.len()];
        for &i in &by_start {
            lane_of[i] = self.lane_for(batch[i]);
        }
        for lane in &mut self.lanes {
            lane.end_batch();
        }
        (lane_of, by_start)
    }

    fn lane_for(&mut self, interval: Interval) -> usize {
        if let Some(lane) = self.lanes.iter_mut().position(|lane| lane.take(interval)) {
            return lane;
        }
        if self.lanes.len() < SEARCHED_MAX {
            let mut lane = Lane::default();
            lane.take(interval);
            self.lanes.push(lane);
            return self.lanes.len() - 1;
        }
        let (start, end) = interval;
        let next = SEARCHED_MAX + self.others.len();
        let free = self.others.peek().is_some_and(|&Reverse((latest_end, _))| latest_end <= start);
        let lane = if free { self.others.pop().map_or(next, |Reverse((_, lane))| lane) } else { next };
        self.others.push(Reverse((end, lane)));
        lane
    }
}

/// Returns the order of the batch, with slices that begin at the same time reordered as in `by_start`.
pub(crate) fn outer_first(batch: &[Interval], by_start: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..batch.len()).collect();
    for group in by_start.chunk_by(|&a, &b| batch[a].0 == batch[b].0) {
        let mut places = group.to_vec();
        places.sort_unstable();
        for (&place, &slice) in places.iter().zip(group) {
            order[place] = slice;
        }
    }
    order
}

/// Slices that nest or are apart.
#[derive(Debug, Default)]
struct Lane {
    /// Ends of the slices of this batch that are open at the current position, innermost last.
    open: Vec<u64>,
    /// Slices of this batch.
    batch: Vec<Interval>,
    /// Slices of earlier batches, in the order of arrival.
    earlier: VecDeque<Interval>,
    /// The latest end in `earlier`.
    earlier_end: u64,
    /// The range of all slices that are no longer remembered.
    forgotten: Option<Interval>,
}

impl Lane {
    /// Adds a slice that begins no earlier than the last one of this batch, if it fits. Returns true if it was added.
    fn take(&mut self, interval: Interval) -> bool {
        let (start, end) = interval;
        while self.open.last().is_some_and(|&open_end| open_end <= start) {
            self.open.pop();
        }
        if self.open.last().is_some_and(|&open_end| open_end < end) || !self.fits_earlier(interval) {
            return false;
        }
        self.open.push(end);
        self.batch.push(interval);
        true
    }

    fn fits_earlier(&self, interval: Interval) -> bool {
        if interval.0 >= self.earlier_end && self.forgotten.is_none_or(|(_, end)| interval.0 >= end) {
            return true;
        }
        let clear_of_forgotten = self.forgotten.is_none_or(|(start, end)| {
            interval.0 >= end || interval.1 < start || (interval.0 < start && interval.1 >= end)
        });
        clear_of_forgotten && self.earlier.iter().all(|&other| fits_after(interval, other))
    }

    fn end_batch(&mut self) {
        self.open.clear();
        for interval in self.batch.drain(..) {
            self.earlier_end = self.earlier_end.max(interval.1);
            self.earlier.push_back(interval);
        }
        while self.earlier.len() > REMEMBERED {
            let Some((start, end)) = self.earlier.pop_front() else {
                break;
            };
            let (all_start, all_end) = self.forgotten.unwrap_or((start, end));
            self.forgotten = Some((all_start.min(start), all_end.max(end)));
        }
    }
}

/// Returns true if `new` may share a lane with `written`, which comes before it in the file.
fn fits_after(new: Interval, written: Interval) -> bool {
    // A slice that ends where another one begins must come first in the file.
    let apart = new.0 >= written.1 || new.1 < written.0;
    let inside = new.0 >= written.0 && new.1 <= written.1;
    // Of two slices that begin together, the outer one must come first in the file, and `written` already did.
    let around = new.0 < written.0 && new.1 >= written.1;
    apart || inside || around
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nested_slices_share_a_lane_and_overlapping_ones_do_not() {
        let mut lanes = SpoolLanes::default();
        let (lane_of, _) = lanes.place(&[(0, 100), (10, 20), (20, 100), (90, 110), (110, 120)]);
        assert_eq!(lane_of, [0, 0, 0, 1, 0]);
    }

    #[test]
    fn slices_that_begin_together_are_written_outer_first() {
        let mut lanes = SpoolLanes::default();
        let batch = [(5, 10), (0, 5), (5, 20), (30, 31)];
        let (lane_of, by_start) = lanes.place(&batch);
        assert_eq!(lane_of, [0; 4]);
        assert_eq!(by_start, [1, 2, 0, 3]);
        assert_eq!(outer_first(&batch, &by_start), [2, 1, 0, 3]);
    }

    #[test]
    fn a_slice_of_a_later_batch_does_not_end_where_a_written_slice_begins() {
        let mut lanes = SpoolLanes::default();
        lanes.place(&[(5, 10)]);
        assert_eq!(lanes.place(&[(0, 5), (10, 15), (5, 5)]).0, [1, 0, 0]);
    }

    #[test]
    fn a_slice_of_a_later_batch_may_enclose_all_forgotten_slices() {
        let mut lanes = SpoolLanes::default();
        let many: Vec<Interval> = (1..=3 * REMEMBERED as u64).map(|i| (10 * i, 10 * i + 5)).collect();
        lanes.place(&many);
        assert_eq!(lanes.place(&[(0, u64::MAX)]).0, [0]);
        assert_eq!(lanes.place(&[(13, 27)]).0, [1], "overlaps the range of the forgotten slices");
    }

    #[test]
    fn many_slices_that_all_overlap_get_a_lane_each() {
        let n = 200_000;
        let batch: Vec<Interval> = (0..n).map(|start| (start, start + n)).collect();
        let mut lanes = SpoolLanes::default();
        assert!(lanes.place(&batch).0.into_iter().eq(0..n as usize));
        let later: Vec<Interval> = (2 * n..3 * n).map(|start| (start, start + n)).collect();
        assert_eq!(lanes.place(&later).0.iter().max(), Some(&(n as usize - 1)), "lanes are reused");
    }

    proptest! {
        #[test]
        fn no_two_slices_of_a_lane_overlap_partly(
            batches in prop::collection::vec(prop::collection::vec((0u64..60, 0u64..50), 0..120), 1..4)
        ) {
            let mut lanes = SpoolLanes::default();
            let mut written: Vec<(usize, Interval)> = Vec::new();
            for batch in batches {
                let batch: Vec<Interval> = batch.iter().map(|&(start, len)| (start, start + len)).collect();
                let (lane_of, order) = lanes.place(&batch);
                for i in order {
                    for &(lane, before) in &written {
                        prop_assert!(lane != lane_of[i] || fits_after(batch[i], before), "{:?} {:?}", batch[i], before);
                    }
                    written.push((lane_of[i], batch[i]));
                }
            }
        }
    }
}
