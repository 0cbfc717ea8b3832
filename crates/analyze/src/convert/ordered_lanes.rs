//! Assigns slices to lanes in time order, so that the slices of each lane nest.
//!
//! Slices arrive sorted by start, outer ones first. A slice of a thread goes into the first lane of the thread in which
//! it nests. An async slice goes into a lane of its group, or into a free lane. So a thread without overlaps has one
//! lane, and requests have as many lanes as there are requests at a time.
//!
//! Unlike `structure/nesting_lanes.rs`, slices may have no end, ends are reported in time order, async slices stay with
//! their group, and only the first eight lanes of an owner are searched.

use ferrum_trace_model::{ProcessId, TrackId};
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::record::NEVER;

/// Maximum number of lanes of a thread, or of an async group, that are searched for one in which a slice nests. Further
/// lanes are used only when they are empty, so that the cost of a slice does not grow with their number.
const SEARCHED_MAX: usize = 8;

/// Owner of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    /// A thread.
    Track(TrackId),
    /// Async slices of a process with this hash of their name.
    Async(ProcessId, u64),
}

/// The number of a lane.
pub(super) type LaneId = u32;

/// Lane of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LanePosition {
    /// The lane.
    pub lane: LaneId,
    /// If the lane is new: its index among the lanes of its owner.
    pub is_new: Option<u32>,
}

/// Pending end: lane and time.
pub(super) type Due = (LaneId, i64);

/// All lanes.
#[derive(Debug)]
pub(super) struct OrderedLanes {
    /// Maximum nesting depth of slices of a thread in one lane.
    depth_max: usize,
    lanes: Vec<Lane>,
    /// Lanes of threads, by [`TrackId`]. A file may have millions of threads with one lane each.
    tracks: Vec<Owned>,
    /// Lanes of async slices.
    asyncs: HashMap<Owner, Owned>,
    /// Unused memory for the open slices of a lane: lanes without open slices have none.
    spare: Vec<Vec<(i64, i64)>>,
    /// Lanes in which a slice of a group is open, in the order in which they were taken.
    groups: HashMap<u64, BTreeSet<(u64, LaneId)>>,
    /// Number of lanes that groups have taken so far.
    n_taken: u64,
    /// Ends by time, with their lanes. May contain slices that have ended already.
    ends: BinaryHeap<Reverse<(i64, LaneId)>>,
}

#[derive(Debug)]
struct Lane {
    owner: Owner,
    /// True if the lane is searched for room.
    is_searched: bool,
    /// The next lane in the list of the owner that this lane is in.
    next: Option<LaneId>,
    group: u64,
    /// Sequence number of its acquisition by the group.
    taken: u64,
    /// Start and end of the open slices, outermost first.
    open: Vec<(i64, i64)>,
}

/// Lanes of an owner.
#[derive(Clone, Copy, Debug, Default)]
struct Owned {
    /// First and last of the lanes that are searched, which are linked by [`Lane::next`].
    searched: Option<(LaneId, LaneId)>,
    n_searched: u32,
    /// The lane that became free last; the others follow by [`Lane::next`].
    free: Option<LaneId>,
    /// Number of all lanes.
    n: u32,
}

impl Default for OrderedLanes {
    fn default() -> Self {
        Self::with_depth_max(usize::MAX)
    }
}

impl OrderedLanes {
    /// Creates an empty set of lanes. Slices of a thread deeper than `depth_max` go to another lane.
    pub(super) fn with_depth_max(depth_max: usize) -> Self {
        let (lanes, tracks, asyncs, spare, groups, ends) = Default::default();
        Self { depth_max, lanes, tracks, asyncs, spare, groups, n_taken: 0, ends }
    }

    /// Ends all slices that end before a time.
    pub(super) fn end_before(&mut self, time: i64, due: &mut Vec<Due>) {
        while let Some(&Reverse((end, lane))) = self.ends.peek() {
            if end >= time {
                break;
            }
            self.ends.pop();
            self.end_in(lane, end, due);
        }
    }

    /// Puts a slice of a thread into a lane. Slices of the lane that have ended by then are ended first.
    pub(super) fn place_on_track(&mut self, track: TrackId, start: i64, end: i64, due: &mut Vec<Due>) -> LanePosition {
        let mut searched = self.first_searched(track);
        while let Some(lane) = searched {
            self.end_in(lane, start, due);
            if self.nests_in(lane, end) && !self.is_full(lane) {
                self.open(lane, start, end);
                return LanePosition { lane, is_new: None };
            }
            searched = self.lanes[lane as usize].next;
        }
        let place = self.free_lane(Owner::Track(track));
        self.open(place.lane, start, end);
        place
    }

    /// Returns true if a lane has the maximum nesting depth.
    fn is_full(&self, lane: LaneId) -> bool {
        self.lanes[lane as usize].open.len() >= self.depth_max
    }

    /// Puts an async slice into a lane of its group, or into a free lane.
    pub(super) fn place_async(
        &mut self,
        owner: Owner,
        group: u64,
        start: i64,
        end: i64,
        due: &mut Vec<Due>,
    ) -> LanePosition {
        let candidates: Vec<LaneId> = self
            .groups
            .get(&group)
            .map(|lanes| lanes.iter().rev().take(SEARCHED_MAX).map(|&(_, lane)| lane).collect())
            .unwrap_or_default();
        for lane in candidates {
            self.end_in(lane, start, due);
            if !self.lanes[lane as usize].open.is_empty() && self.nests_in(lane, end) {
                self.open(lane, start, end);
                return LanePosition { lane, is_new: None };
            }
        }
        let place = self.free_lane(owner);
        self.n_taken += 1;
        let lane = &mut self.lanes[place.lane as usize];
        (lane.group, lane.taken) = (group, self.n_taken);
        self.groups.entry(group).or_default().insert((self.n_taken, place.lane));
        self.open(place.lane, start, end);
        place
    }

    /// Returns the lane of a point on a thread: that of the enclosing slice that began last.
    pub(super) fn lane_around(&self, track: TrackId, time: i64) -> Option<LaneId> {
        let searched = std::iter::successors(self.first_searched(track), |&lane| self.lanes[lane as usize].next);
        let innermost = |lane: LaneId| self.lanes[lane as usize].open.last().filter(|(_, end)| *end >= time);
        let around = searched.filter_map(|lane| innermost(lane).map(|&(start, _)| (start, lane)));
        around.max_by_key(|&(start, _)| start).map(|(_, lane)| lane)
    }

    /// Returns a lane in which a slice of a group is open.
    pub(super) fn lane_of_group(&self, group: u64) -> Option<LaneId> {
        self.groups.get(&group)?.first().map(|&(_, lane)| lane)
    }

    /// Returns a lane for a point that belongs to no open slice: an empty lane of the owner.
    pub(super) fn place_point(&mut self, owner: Owner) -> LanePosition {
        let place = self.free_lane(owner);
        self.set_free(place.lane);
        place
    }

    /// Ends all slices that have an end, and removes all lanes.
    pub(super) fn end_all(&mut self, due: &mut Vec<Due>) {
        self.end_before(NEVER, due);
        for lane in self.lanes.drain(..) {
            // The memory of other tracks is kept, because the tracks may be replayed one after the other.
            if let Owner::Track(track) = lane.owner {
                self.tracks[track.index()] = Owned::default();
            }
        }
        self.asyncs.clear();
        self.groups.clear();
        self.n_taken = 0;
        self.ends.clear();
    }

    fn first_searched(&self, track: TrackId) -> Option<LaneId> {
        self.tracks.get(track.index())?.searched.map(|(first, _)| first)
    }

    fn owned(&mut self, owner: Owner) -> &mut Owned {
        match owner {
            Owner::Track(track) => {
                if self.tracks.len() <= track.index() {
                    self.tracks.resize(track.index() + 1, Owned::default());
                }
                &mut self.tracks[track.index()]
            }
            Owner::Async(..) => self.asyncs.entry(owner).or_default(),
        }
    }

    fn nests_in(&self, lane: LaneId, end: i64) -> bool {
        self.lanes[lane as usize].open.last().is_none_or(|&(_, outer_end)| end <= outer_end)
    }

    fn open(&mut self, lane: LaneId, start: i64, end: i64) {
        let open = &mut self.lanes[lane as usize].open;
        if open.capacity() == 0 {
            *open = self.spare.pop().unwrap_or_default();
        }
        open.push((start, end));
        if end != NEVER {
            self.ends.push(Reverse((end, lane)));
        }
    }

    /// Ends the slices of a lane that have ended by a time, innermost first.
    fn end_in(&mut self, lane: LaneId, time: i64, due: &mut Vec<Due>) {
        let id = lane;
        let lane = &mut self.lanes[id as usize];
        let mut has_ended = false;
        while let Some(&(_, end)) = lane.open.last() {
            if end > time || end == NEVER {
                break;
            }
            lane.open.pop();
            due.push((id, end));
            has_ended = true;
        }
        if has_ended && lane.open.is_empty() {
            self.spare.push(std::mem::take(&mut lane.open));
            self.release_empty(id);
        }
    }

    /// Releases a lane that has become empty. Searched lanes need no release: the search finds them.
    fn release_empty(&mut self, id: LaneId) {
        let lane = &self.lanes[id as usize];
        if let Owner::Async(..) = lane.owner
            && let Some(lanes) = self.groups.get_mut(&lane.group)
        {
            lanes.remove(&(lane.taken, id));
            if lanes.is_empty() {
                self.groups.remove(&lane.group);
            }
        }
        if !lane.is_searched {
            self.set_free(id);
        }
    }

    /// Adds a lane to the free lanes of its owner.
    fn set_free(&mut self, lane: LaneId) {
        let owner = self.lanes[lane as usize].owner;
        let next = self.owned(owner).free.replace(lane);
        self.lanes[lane as usize].next = next;
    }

    fn free_lane(&mut self, owner: Owner) -> LanePosition {
        let owned = *self.owned(owner);
        if let Some(lane) = owned.free {
            self.owned(owner).free = self.lanes[lane as usize].next.take();
            return LanePosition { lane, is_new: None };
        }
        let lane = self.lanes.len() as LaneId;
        // If the last searched lane is full, another one is searched, so that the slices inside it need not get a lane
        // each.
        let has_room =
            (owned.n_searched as usize) < SEARCHED_MAX || owned.searched.is_some_and(|(_, last)| self.is_full(last));
        let is_searched = matches!(owner, Owner::Track(_)) && has_room;
        let mut after = Owned { n: owned.n + 1, ..owned };
        if is_searched {
            after.n_searched += 1;
            after.searched = match owned.searched {
                Some((first, last)) => {
                    self.lanes[last as usize].next = Some(lane);
                    Some((first, lane))
                }
                None => Some((lane, lane)),
            };
        }
        *self.owned(owner) = after;
        self.lanes.push(Lane { owner, is_searched, next: None, group: 0, taken: 0, open: Vec::new() });
        LanePosition { lane, is_new: Some(owned.n) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TRACK: TrackId = TrackId(0);

    #[test]
    fn nested_slices_share_a_lane_and_overlapping_ones_do_not() {
        let (mut lanes, mut due) = (OrderedLanes::default(), Vec::new());
        let mut place = |start, end| lanes.place_on_track(TRACK, start, end, &mut due).lane;
        assert_eq!([place(0, 10), place(0, 5), place(5, 10), place(7, 12), place(10, 12)], [0, 0, 0, 1, 0]);
        assert_eq!(due, [(0, 5), (0, 10), (0, 10)]);
    }

    #[test]
    fn a_slice_without_an_end_is_in_no_slice_that_ends() {
        let (mut lanes, mut due) = (OrderedLanes::default(), Vec::new());
        let mut place = |start, end| lanes.place_on_track(TRACK, start, end, &mut due).lane;
        assert_eq!([place(0, 10), place(3, NEVER), place(5, 6), place(20, 30)], [0, 1, 0, 0]);
        lanes.end_before(100, &mut due);
        assert_eq!(due, [(0, 6), (0, 10), (0, 30)]);
    }

    #[test]
    fn requests_use_as_many_lanes_as_there_are_requests_at_a_time() {
        let (mut lanes, mut due) = (OrderedLanes::default(), Vec::new());
        let owner = Owner::Async(ProcessId(0), 1);
        let mut place = |group, start, end| {
            lanes.end_before(start, &mut due);
            lanes.place_async(owner, group, start, end, &mut due).lane
        };
        assert_eq!(
            [place(1, 0, 10), place(2, 5, 15), place(1, 6, 8), place(3, 11, 20), place(4, 16, 17)],
            [0, 1, 0, 0, 1]
        );
    }

    #[test]
    fn a_point_belongs_to_the_innermost_slice_ends_included() {
        let (mut lanes, mut due) = (OrderedLanes::default(), Vec::new());
        lanes.place_on_track(TRACK, 0, 10, &mut due);
        lanes.place_on_track(TRACK, 5, 12, &mut due);
        assert_eq!((lanes.lane_around(TRACK, 4), lanes.lane_around(TRACK, 10)), (Some(1), Some(1)));
        lanes.end_before(13, &mut due);
        assert_eq!((lanes.lane_around(TRACK, 13), lanes.lane_around(TrackId(1), 0)), (None, None));
    }

    #[test]
    fn lanes_are_new_after_the_end_of_all() {
        let (mut lanes, mut due) = (OrderedLanes::default(), Vec::new());
        let owner = Owner::Async(ProcessId(0), 1);
        for _ in 0..2 {
            let on_track = [(0, 10), (5, 15)].map(|(start, end)| lanes.place_on_track(TRACK, start, end, &mut due));
            let points = [lanes.place_point(owner), lanes.place_point(owner)];
            let positions = on_track.into_iter().chain(points).map(|place| (place.lane, place.is_new));
            assert_eq!(positions.collect::<Vec<_>>(), [(0, Some(0)), (1, Some(1)), (2, Some(0)), (2, None)]);
            lanes.end_all(&mut due);
        }
        assert_eq!(due, [(0, 10), (1, 15), (0, 10), (1, 15)]);
    }

    proptest! {
        #[test]
        fn every_slice_ends_once_and_the_slices_of_a_lane_nest(
            slices in proptest::collection::vec((0i64..50, 0i64..20), 0..60)
        ) {
            let mut slices: Vec<(i64, i64)> = slices.into_iter().map(|(start, len)| (start, start + len)).collect();
            slices.sort_by_key(|&(start, end)| (start, Reverse(end)));
            let (mut lanes, mut due) = (OrderedLanes::default(), Vec::new());
            let mut placed: Vec<(LaneId, i64, i64)> = Vec::new();
            for &(start, end) in &slices {
                lanes.end_before(start, &mut due);
                placed.push((lanes.place_on_track(TRACK, start, end, &mut due).lane, start, end));
            }
            lanes.end_all(&mut due);
            for (n, one) in placed.iter().enumerate() {
                for other in &placed[n + 1..] {
                    let apart = other.1 >= one.2 || one.1 >= other.2;
                    prop_assert!(one.0 != other.0 || apart || other.2 <= one.2);
                }
            }
            prop_assert!(due.is_sorted_by_key(|&(_, end)| end));
            let (mut ends, mut expected) = (due, placed.iter().map(|&(lane, _, end)| (lane, end)).collect::<Vec<_>>());
            ends.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(ends, expected);
        }
    }
}
