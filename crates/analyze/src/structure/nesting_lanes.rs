//! Assigns the slices of one track to lanes, so that the slices of each lane nest.
//!
//! Viewers draw a track as one stack. Of two slices that overlap partly, the later one goes into another *lane*. Lane 0
//! is the track itself.
//!
//! All slices have a known end and arrive sorted by start, and every lane is searched. `convert/ordered_lanes.rs`
//! solves the streaming case: slices without an end, async events that stay with their group, ends reported in time
//! order, and a bounded search. The results differ where a track needs more than eight lanes, so the two cannot share
//! one algorithm.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Lanes of one track, at the start of the slice that was placed last.
///
/// A slice goes into the first lane whose innermost open slice ends no earlier than it does. A tree over the lanes
/// finds that lane, a heap finds the slices that have ended: a thousand open slices cost ten steps, not a thousand.
#[derive(Clone, Debug)]
pub(crate) struct NestingLanes {
    /// Maximum number of open slices in a lane.
    depth_max: usize,
    /// Ends of the open slices of each lane, outermost first.
    open: Vec<Vec<i64>>,
    /// Lanes of all open slices, by end.
    ending: BinaryHeap<Reverse<(i64, u32)>>,
    /// Binary tree with its root at 1: the latest end that each subtree has room for. The last half are the lanes.
    room: Vec<i64>,
}

/// Room of a lane without open slices: any end fits.
const ANY: i64 = i64::MAX;
/// Room of a full lane: no end fits.
const NONE: i64 = i64::MIN;

impl Default for NestingLanes {
    /// Lanes of unlimited depth.
    fn default() -> Self {
        Self::with_depth_max(usize::MAX)
    }
}

impl NestingLanes {
    /// Creates lanes in which at most `depth_max` slices nest.
    pub(crate) fn with_depth_max(depth_max: usize) -> Self {
        Self { depth_max, open: Vec::new(), ending: BinaryHeap::new(), room: Vec::new() }
    }

    /// Returns true if a lane has no room for a slice with this end only because too many are open.
    pub(crate) fn is_too_deep(&self, lane: u32, end: i64) -> bool {
        let open = &self.open[lane as usize];
        open.len() >= self.depth_max && open.last().is_some_and(|&innermost| innermost >= end)
    }

    /// Returns the number of lanes.
    pub(crate) fn len(&self) -> u32 {
        self.open.len() as u32
    }

    /// Removes all slices and lanes.
    pub(crate) fn clear(&mut self) {
        self.open.clear();
        self.ending.clear();
        self.room.clear();
    }

    /// Returns the lane of the next slice. Slices must arrive sorted by start, the longer ones first.
    pub(crate) fn place(&mut self, start: i64, end: i64) -> u32 {
        let end = end.max(NONE + 1);
        self.close_until(start);
        let lane = self.first_with_room(end);
        self.open[lane as usize].push(end);
        self.ending.push(Reverse((end, lane)));
        self.set_room(lane, self.room_in(lane));
        lane
    }

    fn close_until(&mut self, time: i64) {
        while let Some(&Reverse((end, lane))) = self.ending.peek() {
            if end > time {
                return;
            }
            self.ending.pop();
            // The slices of a lane nest, so the one that ends first is the innermost.
            self.open[lane as usize].pop();
            self.set_room(lane, self.room_in(lane));
        }
    }

    /// Returns the latest end that a lane has room for.
    fn room_in(&self, lane: u32) -> i64 {
        match self.open[lane as usize].as_slice() {
            [] => ANY,
            open if open.len() >= self.depth_max => NONE,
            [.., innermost] => *innermost,
        }
    }

    fn first_with_room(&mut self, end: i64) -> u32 {
        if self.room.get(1).is_none_or(|&most| most < end) {
            return self.add();
        }
        let n_leaves = self.room.len() / 2;
        let mut node = 1;
        while node < n_leaves {
            node *= 2;
            if self.room[node] < end {
                node += 1;
            }
        }
        (node - n_leaves) as u32
    }

    fn add(&mut self) -> u32 {
        let lane = self.open.len();
        self.open.push(Vec::new());
        if self.room.len() < 2 * self.open.len() {
            let n_leaves = self.open.len().next_power_of_two();
            self.room = vec![NONE; 2 * n_leaves];
            for lane in 0..self.open.len() {
                self.room[n_leaves + lane] = self.room_in(lane as u32);
            }
            for node in (1..n_leaves).rev() {
                self.room[node] = self.room[2 * node].max(self.room[2 * node + 1]);
            }
        }
        lane as u32
    }

    fn set_room(&mut self, lane: u32, room: i64) {
        let mut node = self.room.len() / 2 + lane as usize;
        self.room[node] = room;
        while node > 1 {
            node /= 2;
            let most = self.room[2 * node].max(self.room[2 * node + 1]);
            if self.room[node] == most {
                return;
            }
            self.room[node] = most;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the lanes of slices (start, duration).
    fn lanes(slices: &[(i64, i64)]) -> Vec<u32> {
        let mut lanes = NestingLanes::with_depth_max(usize::MAX);
        slices.iter().map(|&(start, duration)| lanes.place(start, start + duration)).collect()
    }

    #[test]
    fn slices_that_nest_or_touch_stay_where_they_are() {
        assert_eq!(lanes(&[(0, 100), (10, 90), (10, 5), (100, 7), (107, 0), (107, 0)]), [0; 6]);
    }

    #[test]
    fn a_slice_that_overlaps_goes_into_the_first_lane_with_room() {
        assert_eq!(lanes(&[(100, 100), (150, 100), (180, 5), (190, 40), (230, 1)]), [0, 1, 0, 1, 0]);
        assert_eq!(lanes(&[(0, 10), (5, 10), (7, 10)]), [0, 1, 2]);
    }

    /// Direct implementation of the rule, without tree or heap.
    fn naive_lane(placed: &[(i64, i64, u32)], start: i64, end: i64) -> u32 {
        let fits = |lane| {
            let of_lane = placed.iter().filter(|&&(_, _, other)| other == lane);
            of_lane.filter(|&&(_, other, _)| other > start).all(|&(_, other, _)| other >= end)
        };
        (0..).find(|&lane| fits(lane)).unwrap()
    }

    proptest! {
        #[test]
        fn lanes_agree_with_the_naive_search(mut slices in prop::collection::vec((0i64..60, 0i64..30), 0..80)) {
            slices.sort_by_key(|&(start, duration)| (start, Reverse(start + duration)));
            let mut lanes = NestingLanes::default();
            let mut placed = Vec::new();
            for (start, duration) in slices {
                let expected = naive_lane(&placed, start, start + duration);
                prop_assert_eq!(lanes.place(start, start + duration), expected);
                placed.push((start, start + duration, expected));
            }
        }
    }
}
