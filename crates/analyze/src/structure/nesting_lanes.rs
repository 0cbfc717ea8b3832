//! Which row each slice of a track goes into, so that the slices of a row nest.
//!
//! Viewers draw a track as one stack. Two slices of a track that overlap in part have no place in it: the later one goes
//! into another *lane*. Lane 0 is the track itself, so where all is well there is nothing to know.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The lanes of one track, at the start of the slice that was placed last.
///
/// A slice goes into the first lane whose innermost open slice ends no earlier than it does. A tree over the lanes finds
/// it, a heap tells which slices have ended, so that a thousand open slices cost ten steps, not a thousand.
#[derive(Clone, Debug)]
pub(crate) struct NestingLanes {
    /// How many slices may be open in a lane.
    depth_max: usize,
    /// The ends of the open slices of each lane, outermost first.
    open: Vec<Vec<i64>>,
    /// The lanes of all open slices, by their ends.
    ending: BinaryHeap<Reverse<(i64, u32)>>,
    /// A binary tree, root at 1: the latest end that each part of the lanes has room for. NestingLanes are the last half.
    room: Vec<i64>,
}

/// A lane without open slices takes any slice.
const ANY: i64 = i64::MAX;
/// No lane takes less than this.
const NONE: i64 = i64::MIN;

impl Default for NestingLanes {
    /// NestingLanes of any depth.
    fn default() -> Self {
        Self::with_depth_max(usize::MAX)
    }
}

impl NestingLanes {
    /// NestingLanes in which no more than so many slices are inside of each other.
    pub(crate) fn with_depth_max(depth_max: usize) -> Self {
        Self { depth_max, open: Vec::new(), ending: BinaryHeap::new(), room: Vec::new() }
    }

    /// Whether a lane has no room for a slice of that end only because too many are open.
    pub(crate) fn is_too_deep(&self, lane: u32, end: i64) -> bool {
        let open = &self.open[lane as usize];
        open.len() >= self.depth_max && open.last().is_some_and(|&innermost| innermost >= end)
    }

    /// How many lanes there are.
    pub(crate) fn len(&self) -> u32 {
        self.open.len() as u32
    }

    /// Forgets all slices.
    pub(crate) fn clear(&mut self) {
        self.open.clear();
        self.ending.clear();
        self.room.clear();
    }

    /// The lane of the next slice. Slices come by their starts, the longer ones first.
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
            // Those of a lane nest, so the one that ends first is the innermost.
            self.open[lane as usize].pop();
            self.set_room(lane, self.room_in(lane));
        }
    }

    /// The latest end that a lane has room for.
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

    /// The lanes of slices (start, duration), which come in their order.
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

    /// The rule as it is said, without tree or heap.
    fn lane_by_the_rule(placed: &[(i64, i64, u32)], start: i64, end: i64) -> u32 {
        let fits = |lane| {
            let of_lane = placed.iter().filter(|&&(_, _, other)| other == lane);
            of_lane.filter(|&&(_, other, _)| other > start).all(|&(_, other, _)| other >= end)
        };
        (0..).find(|&lane| fits(lane)).unwrap()
    }

    proptest! {
        #[test]
        fn agrees_with_the_rule(mut slices in prop::collection::vec((0i64..60, 0i64..30), 0..80)) {
            slices.sort_by_key(|&(start, duration)| (start, Reverse(start + duration)));
            let mut lanes = NestingLanes::default();
            let mut placed = Vec::new();
            for (start, duration) in slices {
                let expected = lane_by_the_rule(&placed, start, start + duration);
                prop_assert_eq!(lanes.place(start, start + duration), expected);
                placed.push((start, start + duration, expected));
            }
        }
    }
}
