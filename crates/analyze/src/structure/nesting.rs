//! Which slice lies in which: self time, busy time, depth.
//!
//! # Self time
//!
//! The self time of a slice is the time at which it is, of all open slices of its track, the one that started last:
//!
//! ```text
//! outer  |-----------------------|      self: 2 + 3
//! inner    |-------------|              self: 4 + 2
//! leaf           |----|                 self: 4
//! ```
//!
//! Where slices nest, that is a slice's duration minus what lies in it. Where two overlap in part, the later one has the
//! time that both are open, so that the self times of a track always sum to the time at which it is busy.
//! Of two that start together the longer one is the outer one, of two with the same times the one that is earlier in
//! the file.

use super::share_out::share_out;
use ferrum_trace_model::{Order, Slices, Trace, TrackId};
use std::cmp::Reverse;
use std::ops::Range;
use std::sync::atomic::{AtomicI64, Ordering};

/// How the slices of a trace lie in each other.
#[derive(Clone, Debug, Default)]
pub struct Nesting {
    /// The self time of each slice, in nanoseconds; in the order of [`Trace::slices`].
    pub self_time: Vec<i64>,
    /// The same by track; in the order of [`Trace::tracks`].
    pub tracks: Vec<TrackNesting>,
    /// Slices by track, the outer before the inner.
    by_track: ByTrack,
}

/// How the slices of one track lie in each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrackNesting {
    /// How many there are.
    pub n_slices: usize,
    /// When the first of them starts; zero if there is none.
    pub first: i64,
    /// When the last of them ends; zero if there is none.
    pub last: i64,
    /// The time at which any of them is open, in nanoseconds.
    pub busy: i64,
    /// How many lie in each other where they are deepest: 1 if none lies in another.
    pub depth_max: usize,
    /// How many are overlapped in part by one that starts later.
    pub n_partial_overlaps: usize,
}

impl TrackNesting {
    /// From the start of the first slice to the end of the last, in nanoseconds.
    pub fn span(&self) -> i64 {
        self.last.saturating_sub(self.first)
    }
}

impl Nesting {
    /// Looks at all slices of a trace, on as many threads as the machine has cores.
    pub fn of(trace: &Trace) -> Self {
        Self::with_workers(trace, std::thread::available_parallelism().map_or(1, usize::from))
    }

    /// Looks at all slices of a trace, on so many threads.
    pub fn with_workers(trace: &Trace, n_workers: usize) -> Self {
        let slices = &trace.slices;
        let mut by_track = ByTrack::unsorted(slices, trace.tracks.len());
        let self_time: Vec<AtomicI64> = std::iter::repeat_with(AtomicI64::default).take(slices.len()).collect();
        let mut tracks = vec![TrackNesting::default(); trace.tracks.len()];

        let work = |trip: Vec<(&mut [u32], &mut TrackNesting)>| {
            let (mut starts, mut open) = (Vec::new(), Vec::new());
            for (part, track) in trip {
                // Most tracks are sorted already. The sweep finds out by itself, so that no time is spent on asking.
                *track = sweep(slices, part, &self_time, &mut open).unwrap_or_else(|Unsorted| {
                    sort(slices, part, &mut starts);
                    sweep(slices, part, &self_time, &mut open).unwrap_or_default()
                });
            }
        };
        let parts = by_track.parts_mut().zip(&mut tracks);
        share_out(parts, slices.len(), |(part, _)| part.len(), n_workers, work);
        // Collected in place: an atomic integer is laid out as the integer is.
        let self_time = self_time.into_iter().map(AtomicI64::into_inner).collect();
        Self { self_time, tracks, by_track }
    }

    /// The slices of a track by their numbers, the outer before the inner: by start, then the longer first, then by
    /// their place in the file.
    pub fn of_track(&self, track: TrackId) -> &[u32] {
        &self.by_track.slices[self.by_track.range(track.index())]
    }

    /// Calls `visit` for each slice of a track in the order of [`of_track`](Self::of_track), with those that it lies
    /// wholly in, the outermost first. Of those that overlap in part, only the latest is known.
    pub(crate) fn walk(&self, trace: &Trace, track: TrackId, mut visit: impl FnMut(u32, &[u32])) {
        let mut open: Vec<u32> = Vec::new();
        for &slice in self.of_track(track) {
            let end_min = enclosing_end_min(&trace.slices, slice as usize);
            while open.pop_if(|top| trace.slices.end(*top as usize) < end_min).is_some() {}
            visit(slice, &open);
            open.push(slice);
        }
    }

    /// The sum of all self times: the busy times of all tracks.
    pub fn total_self(&self) -> i64 {
        self.tracks.iter().fold(0, |sum: i64, track| sum.saturating_add(track.busy))
    }
}

/// The numbers of all slices, grouped by track.
#[derive(Clone, Debug, Default)]
struct ByTrack {
    slices: Vec<u32>,
    /// Where the slices of each track end.
    ends: Vec<usize>,
}

impl ByTrack {
    /// Groups slices by track and leaves them in their order otherwise.
    fn unsorted(slices: &Slices, n_tracks: usize) -> Self {
        let mut next = vec![0; n_tracks];
        for track in &slices.track {
            next[track.index()] += 1;
        }
        let mut sum = 0;
        for count in &mut next {
            sum += std::mem::replace(count, sum);
        }
        let mut grouped = vec![0; slices.len()];
        for (number, track) in slices.track.iter().enumerate() {
            let place = &mut next[track.index()];
            grouped[*place] = number as u32;
            *place += 1;
        }
        // Each place has moved on to where its track ends.
        Self { slices: grouped, ends: next }
    }

    fn range(&self, track: usize) -> Range<usize> {
        let start = if track == 0 { 0 } else { self.ends[track - 1] };
        start..self.ends[track]
    }

    /// The slices of each track.
    fn parts_mut(&mut self) -> impl Iterator<Item = &mut [u32]> + Send {
        let mut rest = &mut self.slices[..];
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let (part, later) = std::mem::take(&mut rest).split_at_mut(end - start);
            (rest, start) = (later, end);
            part
        })
    }
}

/// Sorts the slices of a track, the outer before the inner. `starts` is room for their starts.
///
/// Starts are sorted by themselves, side by side in memory, which is 8 times as fast on random slices as to look up each
/// key. Few slices start together; those are sorted among themselves.
fn sort(slices: &Slices, part: &mut [u32], starts: &mut Vec<(i64, u32)>) {
    let start = |slice: u32| slices.start[slice as usize];
    starts.clear();
    starts.extend(part.iter().map(|&slice| (start(slice), slice)));
    starts.sort_unstable();
    for (place, &(_, slice)) in part.iter_mut().zip(&*starts) {
        *place = slice;
    }
    for together in part.chunk_by_mut(|&slice, &next| start(slice) == start(next)) {
        together.sort_unstable_by_key(|&slice| nesting_key(slices, slice));
    }
}

/// What sorts slices so that the outer comes before the inner: start, end, place in the file.
pub(crate) type NestingKey = (i64, Reverse<i64>, Order);

/// What sorts a slice.
pub(crate) fn nesting_key(slices: &Slices, slice: u32) -> NestingKey {
    let slice = slice as usize;
    (slices.start[slice], Reverse(slices.end(slice)), slices.order[slice])
}

/// The earliest end of a slice that this one lies in, if that one starts no later. What starts where another ends is not
/// in it, even if it takes no time.
pub(crate) fn enclosing_end_min(slices: &Slices, slice: usize) -> i64 {
    slices.end(slice).max(slices.start[slice].saturating_add(1))
}

/// An open slice.
struct Open {
    slice: u32,
    end: i64,
    self_time: i64,
}

/// The slices of a track are not in the order of their [`NestingKey`]s.
struct Unsorted;

/// Passes through the time of one track. `part` should be sorted; `open` is room for the open slices.
///
/// All that are open lie in each other: one that is overlapped in part by a later one ends before that one does, so it
/// is never again the latest, and can be taken out at once.
fn sweep(
    slices: &Slices,
    part: &[u32],
    self_time: &[AtomicI64],
    open: &mut Vec<Open>,
) -> Result<TrackNesting, Unsorted> {
    open.clear();
    let Some(&(mut latest)) = part.first() else { return Ok(TrackNesting::default()) };
    let first = slices.start[latest as usize];
    let mut track = TrackNesting { n_slices: part.len(), first, last: first, ..TrackNesting::default() };
    // When the latest slice started, and from there on the time that is accounted for.
    let mut now = first;
    let mut depths = Depths::default();
    let store = |done: &Open| self_time[done.slice as usize].store(done.self_time, Ordering::Relaxed);

    for &slice in part {
        let (start, end) = (slices.start[slice as usize], slices.end(slice as usize));
        if start <= now && nesting_key(slices, slice) < nesting_key(slices, latest) {
            return Err(Unsorted);
        }
        latest = slice;
        while let Some(mut done) = open.pop_if(|top| top.end <= start) {
            done.self_time += done.end - now;
            now = done.end;
            track.busy = track.busy.saturating_add(done.self_time);
            store(&done);
        }
        if let Some(top) = open.last_mut() {
            top.self_time += start - now;
        }
        now = start;
        while let Some(overlapped) = open.pop_if(|top| top.end < end) {
            track.n_partial_overlaps += 1;
            track.busy = track.busy.saturating_add(overlapped.self_time);
            store(&overlapped);
        }
        depths.enter(enclosing_end_min(slices, slice as usize), end);
        track.last = track.last.max(end);
        open.push(Open { slice, end, self_time: 0 });
    }
    while let Some(mut done) = open.pop() {
        done.self_time += done.end - now;
        now = done.end;
        track.busy = track.busy.saturating_add(done.self_time);
        store(&done);
    }
    track.depth_max = depths.ends.len();
    Ok(track)
}

/// How deep slices lie in each other, when they come in the order of their starts.
///
/// For each depth, the latest end of a slice at that depth that can still hold another. Slices that nest only in part
/// make this differ from the number of open ones: the longest chain is wanted of which each lies in the one before.
#[derive(Default)]
struct Depths {
    ends: Vec<i64>,
}

impl Depths {
    fn enter(&mut self, outer_end_min: i64, end: i64) {
        let depth = self.ends.partition_point(|&outer| outer >= outer_end_min);
        match self.ends.get_mut(depth) {
            Some(at_depth) => *at_depth = end,
            None => self.ends.push(end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_traces;
    use ferrum_trace_model::Slice;
    use proptest::prelude::*;

    #[test]
    fn time_belongs_to_the_innermost_slice() {
        let trace = test_traces::track(&[("outer", 0, 11), ("inner", 2, 8), ("leaf", 4, 6), ("later", 20, 23)]);
        let nesting = Nesting::of(&trace);
        assert_eq!(nesting.self_time, [5, 4, 2, 3]);
        let expected = TrackNesting { n_slices: 4, first: 0, last: 23, busy: 14, depth_max: 3, n_partial_overlaps: 0 };
        assert_eq!(nesting.tracks, [expected]);
        assert_eq!((nesting.total_self(), expected.span()), (14, 23));
    }

    #[test]
    fn children_that_are_written_before_their_parents_are_still_in_them() {
        let trace = test_traces::track(&[("leaf", 4, 6), ("inner", 2, 8), ("outer", 0, 11)]);
        let nesting = Nesting::of(&trace);
        assert_eq!(nesting.self_time, [2, 4, 5]);
        assert_eq!(nesting.of_track(TrackId(0)), [2, 1, 0]);
    }

    #[test]
    fn of_twins_the_earlier_in_the_file_is_the_outer_one() {
        let nesting = Nesting::of(&test_traces::track(&[("outer", 0, 5), ("inner", 0, 5)]));
        assert_eq!(nesting.self_time, [0, 5]);
        assert_eq!(nesting.tracks[0].depth_max, 2);
    }

    #[test]
    fn time_of_two_that_overlap_in_part_belongs_to_the_later_one() {
        let nesting = Nesting::of(&test_traces::track(&[("one", 0, 10), ("two", 5, 15), ("three", 8, 9)]));
        assert_eq!(nesting.self_time, [5, 9, 1]);
        let track = nesting.tracks[0];
        assert_eq!((track.busy, track.depth_max, track.n_partial_overlaps), (15, 2, 1));
    }

    #[test]
    fn the_deepest_chain_counts_where_slices_overlap_in_part() {
        // The last one is in three that lie in each other, and in one that overlaps all of these.
        let slices = [("1", 0, 10), ("2", 1, 10), ("3", 2, 10), ("across", 5, 20), ("last", 6, 7)];
        let nesting = Nesting::of(&test_traces::track(&slices));
        assert_eq!((nesting.tracks[0].depth_max, nesting.tracks[0].n_partial_overlaps), (4, 3));
    }

    #[test]
    fn tracks_are_apart() {
        let slices = [("1", "1", "", "a", 0, 10), ("1", "2", "", "b", 2, 4), ("2", "1", "", "c", 3, 5)];
        let nesting = Nesting::of(&test_traces::trace(&slices));
        assert_eq!(nesting.self_time, [10, 2, 2]);
        assert_eq!(nesting.tracks.iter().map(|track| track.busy).collect::<Vec<_>>(), [10, 2, 2]);
    }

    #[test]
    fn the_longest_times_do_not_overflow() {
        let mut trace = test_traces::track(&[("a", -1, 0), ("b", 0, 1)]);
        (trace.slices.start, trace.slices.duration) = (vec![i64::MIN, i64::MAX], vec![i64::MAX, i64::MAX]);
        let nesting = Nesting::of(&trace);
        assert_eq!(nesting.self_time, [i64::MAX, 0]);
        assert_eq!((nesting.tracks[0].busy, nesting.tracks[0].span()), (i64::MAX, i64::MAX));
        assert_eq!(Nesting::of(&Trace::default()).tracks, []);
    }

    #[test]
    fn a_walk_shows_what_a_slice_lies_in() {
        let trace = test_traces::track(&[("outer", 0, 10), ("inner", 2, 8), ("leaf", 4, 6), ("at the end", 10, 10)]);
        let mut seen = Vec::new();
        Nesting::of(&trace).walk(&trace, TrackId(0), |slice, around| seen.push((slice, around.to_vec())));
        assert_eq!(seen, [(0, vec![]), (1, vec![0]), (2, vec![0, 1]), (3, vec![])]);
    }

    /// Slices at few times, so that they often touch, overlap and lie in each other.
    fn slices() -> impl Strategy<Value = Trace> {
        let slice = (0_u32..3, 0_i64..40, 0_i64..12);
        prop::collection::vec(slice, 0..60).prop_map(|slices| {
            let mut trace = Trace::default();
            for (order, (tid, start, duration)) in slices.into_iter().enumerate() {
                let tid = trace.strings.intern(&tid.to_string());
                let (track, order) = (trace.tracks.track(None, Some(tid)), order as u32);
                trace.slices.push(Slice { start, duration, name: tid, category: tid, track, order });
            }
            trace
        })
    }

    /// The self time of each slice, instant by instant.
    fn naive_self_time(trace: &Trace) -> Vec<i64> {
        let slices = &trace.slices;
        let mut self_time = vec![0; slices.len()];
        for track in trace.tracks.iter().map(|(track, _)| track) {
            for time in 0..60 {
                let is_open = |slice: &usize| {
                    slices.track[*slice] == track && slices.start[*slice] <= time && time < slices.end(*slice)
                };
                let latest = (0..slices.len()).filter(is_open).max_by_key(|&slice| nesting_key(slices, slice as u32));
                if let Some(latest) = latest {
                    self_time[latest] += 1;
                }
            }
        }
        self_time
    }

    fn naive_track(trace: &Trace, track: TrackId) -> TrackNesting {
        let slices = &trace.slices;
        let mut own: Vec<usize> = (0..slices.len()).filter(|&slice| slices.track[slice] == track).collect();
        own.sort_by_key(|&slice| nesting_key(slices, slice as u32));
        let mut depths: Vec<usize> = Vec::new();
        for (place, &slice) in own.iter().enumerate() {
            let (start, end) = (slices.start[slice], slices.end(slice));
            let is_outer = |outer: usize| slices.end(outer) >= end && slices.end(outer) > start;
            let outer = (0..place).filter(|&outer| is_outer(own[outer])).map(|outer| depths[outer]).max();
            depths.push(outer.unwrap_or(0) + 1);
        }
        let is_overlapped = |place: usize| {
            let end = slices.end(own[place]);
            own[place + 1..].iter().any(|&later| slices.start[later] < end && end < slices.end(later))
        };
        TrackNesting {
            n_slices: own.len(),
            first: own.iter().map(|&slice| slices.start[slice]).min().unwrap_or(0),
            last: own.iter().map(|&slice| slices.end(slice)).max().unwrap_or(0),
            busy: own.iter().map(|&slice| naive_self_time(trace)[slice]).sum(),
            depth_max: depths.iter().copied().max().unwrap_or(0),
            n_partial_overlaps: (0..own.len()).filter(|&place| is_overlapped(place)).count(),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn the_sweep_finds_what_looking_at_each_instant_finds(trace in slices()) {
            let nesting = Nesting::of(&trace);
            prop_assert_eq!(&nesting.self_time, &naive_self_time(&trace));
            for (track, _) in trace.tracks.iter() {
                prop_assert_eq!(nesting.tracks[track.index()], naive_track(&trace, track));
            }
            prop_assert_eq!(nesting.self_time.iter().sum::<i64>(), nesting.total_self());
        }
    }

    #[test]
    fn several_workers_find_what_one_finds() {
        let mut trace = Trace::default();
        let tids: Vec<_> = (0..100).map(|n: u32| trace.strings.intern(&n.to_string())).collect();
        let tracks: Vec<_> = tids.iter().map(|&tid| trace.tracks.track(None, Some(tid))).collect();
        let mut random = 1_u32;
        for order in 0..100_000 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (start, duration) = (i64::from(random >> 16), i64::from(random >> 12 & 0xff));
            // One track has half of all slices.
            let n_track = (random >> 8) as usize % 200;
            let track = tracks[if n_track < 100 { n_track } else { 7 }];
            trace.slices.push(Slice { start, duration, name: tids[0], category: tids[0], track, order });
        }
        let (one, four) = (Nesting::with_workers(&trace, 1), Nesting::with_workers(&trace, 4));
        assert_eq!(one.self_time, four.self_time);
        assert_eq!(one.tracks, four.tracks);
        assert_eq!(one.by_track.slices, four.by_track.slices);
    }
}
