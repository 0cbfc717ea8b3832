//! Which row each slice of a track goes into, so that the slices of a row nest.
//!
//! Viewers draw a track as one stack. Two slices of a track that overlap in part have no place in it: the later one goes
//! into another *lane*. Lane 0 is the track itself, so where all is well there is nothing to know.

use ferrum_trace_model::{Order, Slices, Trace, TrackId};
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The lanes of the slices of a trace, and the durations of those that a `B` opened.
#[derive(Clone, Debug, Default)]
pub struct Placement {
    /// Slices that are not in lane 0, by order.
    moved: Vec<(Order, u32)>,
    /// Tracks with more than one lane.
    n_lanes: HashMap<TrackId, u32>,
    durations: Durations,
}

impl Placement {
    /// Finds a place for every slice of a trace.
    pub fn of(trace: &Trace) -> Self {
        let slices = &trace.slices;
        let mut placement = Self::default();
        for track in ByTrack::of(slices, trace.tracks.len()).iter_mut() {
            placement.place_track(slices, track);
        }
        placement.moved.sort_unstable();
        placement.moved.shrink_to_fit();
        if trace.census.phases[usize::from(b'B')] > 0 {
            placement.durations = Durations::of(slices);
        }
        placement
    }

    /// The lane of the slice that begins with the event of that order; 0 is the track itself.
    pub fn lane(&self, order: Order) -> u32 {
        match self.moved.binary_search_by_key(&order, |&(moved, _)| moved) {
            Ok(place) => self.moved[place].1,
            Err(_) => 0,
        }
    }

    /// How many lanes a track has: at least one.
    pub fn n_lanes(&self, track: TrackId) -> u32 {
        self.n_lanes.get(&track).copied().unwrap_or(1)
    }

    /// How many slices are not in lane 0.
    pub fn n_moved(&self) -> usize {
        self.moved.len()
    }

    /// How long the slice lasts that the `B` of that order opened. `None` if nothing closed it.
    pub fn begin_duration(&self, order: Order) -> Option<i64> {
        self.durations.get(order)
    }

    /// Places the slices of one track, given by their places in the columns.
    fn place_track(&mut self, slices: &Slices, track: &mut [u32]) {
        let Some(&first) = track.first() else {
            return;
        };
        sort_for_nesting(slices, track);
        let mut lanes = Lanes::default();
        for &n in track.iter() {
            let n = n as usize;
            let lane = lanes.place(slices.start[n], slices.end(n));
            if lane > 0 {
                self.moved.push((slices.order[n], lane));
            }
        }
        if lanes.len() > 1 {
            self.n_lanes.insert(slices.track[first as usize], lanes.len());
        }
    }
}

/// Outer slices before inner ones.
fn sort_for_nesting(slices: &Slices, track: &mut [u32]) {
    let key = |&n: &u32| (slices.start[n as usize], Reverse(slices.end(n as usize)), slices.order[n as usize]);
    // Recorders mostly write in this order or nearly so.
    if !track.is_sorted_by_key(key) {
        track.sort_unstable_by_key(key);
    }
}

/// The places of slices in the columns, those of a track side by side.
struct ByTrack {
    slices: Vec<u32>,
    /// Where the slices of each track end.
    ends: Vec<u32>,
}

impl ByTrack {
    fn of(slices: &Slices, n_tracks: usize) -> Self {
        let mut ends = vec![0; n_tracks];
        for track in &slices.track {
            ends[track.index()] += 1;
        }
        let mut n_before = 0;
        for end in &mut ends {
            // First where the track begins; each slice that is put there moves it on to where the track ends.
            n_before += std::mem::replace(end, n_before);
        }
        let mut by_track = vec![0; slices.len()];
        for (n, track) in slices.track.iter().enumerate() {
            let place = &mut ends[track.index()];
            by_track[*place as usize] = n as u32;
            *place += 1;
        }
        Self { slices: by_track, ends }
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = &mut [u32]> {
        let mut rest = self.slices.as_mut_slice();
        let mut begin = 0;
        self.ends.iter().map(move |&end| {
            let (track, after) = std::mem::take(&mut rest).split_at_mut((end - begin) as usize);
            (rest, begin) = (after, end);
            track
        })
    }
}

/// The lanes of one track, at the start of the slice that was placed last.
///
/// A slice goes into the first lane whose innermost open slice ends no earlier than it does. A tree over the lanes finds
/// it, a heap tells which slices have ended, so that a thousand open slices cost ten steps, not a thousand.
#[derive(Clone, Debug)]
pub struct Lanes {
    /// How many slices may be open in a lane.
    depth_max: usize,
    /// The ends of the open slices of each lane, outermost first.
    open: Vec<Vec<i64>>,
    /// The lanes of all open slices, by their ends.
    ending: BinaryHeap<Reverse<(i64, u32)>>,
    /// A binary tree, root at 1: the latest end that each part of the lanes has room for. Lanes are the last half.
    room: Vec<i64>,
}

/// A lane without open slices takes any slice.
const ANY: i64 = i64::MAX;
/// No lane takes less than this.
const NONE: i64 = i64::MIN;

impl Default for Lanes {
    /// Lanes of any depth.
    fn default() -> Self {
        Self::with_depth_max(usize::MAX)
    }
}

impl Lanes {
    /// Lanes in which no more than so many slices are inside of each other.
    pub fn with_depth_max(depth_max: usize) -> Self {
        Self { depth_max, open: Vec::new(), ending: BinaryHeap::new(), room: Vec::new() }
    }

    /// Whether a lane has no room for a slice of that end only because too many are open.
    pub fn is_too_deep(&self, lane: u32, end: i64) -> bool {
        let open = &self.open[lane as usize];
        open.len() >= self.depth_max && open.last().is_some_and(|&innermost| innermost >= end)
    }

    /// How many lanes there are.
    pub fn len(&self) -> u32 {
        self.open.len() as u32
    }

    /// Whether no slice has been placed.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Forgets all slices.
    pub fn clear(&mut self) {
        self.open.clear();
        self.ending.clear();
        self.room.clear();
    }

    /// The lane of the next slice. Slices come by their starts, the longer ones first.
    pub fn place(&mut self, start: i64, end: i64) -> u32 {
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

/// How long slices last, by order: four bytes an event for those below four seconds.
#[derive(Clone, Debug, Default)]
struct Durations {
    short: Vec<u32>,
    long: Vec<(Order, i64)>,
}

/// Nothing begins here.
const ABSENT: u32 = u32::MAX;
/// Too long for four bytes.
const LONG: u32 = u32::MAX - 1;

impl Durations {
    fn of(slices: &Slices) -> Self {
        let n_orders = slices.order.iter().max().map_or(0, |&last| last as usize + 1);
        let mut durations = Self { short: vec![ABSENT; n_orders], long: Vec::new() };
        for (&order, &duration) in slices.order.iter().zip(&slices.duration) {
            durations.short[order as usize] = match u32::try_from(duration) {
                Ok(short) if short < LONG => short,
                _ => {
                    durations.long.push((order, duration));
                    LONG
                }
            };
        }
        durations.long.sort_unstable();
        durations
    }

    fn get(&self, order: Order) -> Option<i64> {
        match *self.short.get(order as usize)? {
            ABSENT => None,
            LONG => {
                let place = self.long.binary_search_by_key(&order, |&(long, _)| long).ok()?;
                Some(self.long[place].1)
            }
            short => Some(i64::from(short)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrum_trace_model::{Slice, StringId};
    use proptest::prelude::*;

    /// A trace of slices (track, start, duration), in this order.
    fn trace(slices: &[(u32, i64, i64)]) -> Trace {
        let mut trace = Trace::default();
        let tids: Vec<StringId> = (0..4).map(|tid| trace.strings.intern(&tid.to_string())).collect();
        for &tid in &tids {
            trace.tracks.track(None, Some(tid));
        }
        for (order, &(track, start, duration)) in slices.iter().enumerate() {
            let (name, category) = (StringId::EMPTY, StringId::EMPTY);
            let slice = Slice { start, duration, name, category, track: TrackId(track), order: order as u32 };
            trace.slices.push(slice);
        }
        trace
    }

    fn lanes(slices: &[(u32, i64, i64)]) -> Vec<u32> {
        let placement = Placement::of(&trace(slices));
        (0..slices.len() as u32).map(|order| placement.lane(order)).collect()
    }

    #[test]
    fn slices_that_nest_or_touch_stay_where_they_are() {
        let slices = [(0, 10, 5), (0, 0, 100), (0, 10, 90), (0, 100, 7), (0, 107, 0), (0, 107, 0), (1, 3, 200)];
        let placement = Placement::of(&trace(&slices));
        assert_eq!(placement.n_moved(), 0);
        assert_eq!(placement.n_lanes(TrackId(0)), 1);
    }

    #[test]
    fn a_slice_that_overlaps_goes_into_the_first_lane_with_room() {
        assert_eq!(lanes(&[(0, 100, 100), (0, 150, 100), (0, 180, 5), (0, 190, 40), (0, 230, 1)]), [0, 1, 0, 1, 0]);
        assert_eq!(lanes(&[(0, 0, 10), (0, 5, 10), (0, 7, 10), (1, 5, 10)]), [0, 1, 2, 0]);
        let placement = Placement::of(&trace(&[(0, 0, 10), (0, 9, 10)]));
        assert_eq!((placement.n_lanes(TrackId(0)), placement.n_lanes(TrackId(1))), (2, 1));
    }

    #[test]
    fn durations_are_kept_where_something_was_begun() {
        let mut trace = trace(&[(0, 0, 7), (0, 0, 1 << 40)]);
        trace.slices.order = vec![3, 1];
        assert_eq!(Placement::of(&trace).begin_duration(3), None);
        trace.census.phases[usize::from(b'B')] = 2;
        let placement = Placement::of(&trace);
        let found = [0, 1, 2, 3, 4].map(|order| placement.begin_duration(order));
        assert_eq!(found, [None, Some(1 << 40), None, Some(7), None]);
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
            let mut lanes = Lanes::default();
            let mut placed = Vec::new();
            for (start, duration) in slices {
                let expected = lane_by_the_rule(&placed, start, start + duration);
                prop_assert_eq!(lanes.place(start, start + duration), expected);
                placed.push((start, start + duration, expected));
            }
        }
    }
}
