//! Nesting of slices: self time, busy time, depth.
//!
//! # Self time
//!
//! The self time of a slice is the time in which it is the open slice of its track that started last:
//!
//! ```text
//! outer  |-----------------------|      self: 2 + 3
//! inner    |-------------|              self: 4 + 2
//! leaf           |----|                 self: 4
//! ```
//!
//! For slices that nest, this is the duration minus the time of the slices inside. Where two slices overlap partly, the
//! shared time belongs to the later one, so that the self times of a track always sum to its busy time. Of two slices
//! that start together the longer one is the outer one; of two with equal times, the one that is earlier in the file.

use super::share_out::share_out;
use ferrum_trace_model::{Order, Slices, Trace, TrackId};
use std::cmp::Reverse;
use std::ops::Range;
use std::sync::atomic::{AtomicI64, Ordering};

/// Nesting of the slices of a trace.
#[derive(Clone, Debug, Default)]
pub struct Nesting {
    /// Self time of each slice, in nanoseconds, in the order of [`Trace::slices`].
    pub self_time: Vec<i64>,
    /// Nesting by track, in the order of [`Trace::tracks`].
    pub tracks: Vec<TrackNesting>,
    /// Slices by track, outer before inner.
    by_track: ByTrack,
}

/// Nesting of the slices of one track.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrackNesting {
    /// Number of slices.
    pub n_slices: usize,
    /// Start of the first slice; zero if there is none.
    pub first: i64,
    /// End of the last slice; zero if there is none.
    pub last: i64,
    /// Time in which any slice is open, in nanoseconds.
    pub busy: i64,
    /// Nesting depth: 1 if no slice lies in another.
    pub depth_max: usize,
    /// Number of slices that a later slice overlaps partly.
    pub n_partial_overlaps: usize,
}

impl TrackNesting {
    /// Returns the time from the start of the first slice to the end of the last, in nanoseconds.
    pub fn span(&self) -> i64 {
        self.last.saturating_sub(self.first)
    }
}

impl Nesting {
    /// Computes the nesting of a trace, with one thread per core.
    pub fn of(trace: &Trace) -> Self {
        Self::with_workers(trace, std::thread::available_parallelism().map_or(1, usize::from))
    }

    /// Computes the nesting of a trace with `n_workers` threads.
    pub fn with_workers(trace: &Trace, n_workers: usize) -> Self {
        let slices = &trace.slices;
        let mut by_track = ByTrack::unsorted(slices, trace.tracks.len());
        let self_time: Vec<AtomicI64> = std::iter::repeat_with(AtomicI64::default).take(slices.len()).collect();
        let mut tracks = vec![TrackNesting::default(); trace.tracks.len()];

        let work = |batch: Vec<(&mut [u32], &mut TrackNesting)>| {
            let (mut starts, mut open) = (Vec::new(), Vec::new());
            for (part, track) in batch {
                // Most tracks are sorted already. The sweep detects unsorted ones, so no separate check is needed.
                *track = sweep(slices, part, &self_time, &mut open).unwrap_or_else(|Unsorted| {
                    sort(slices, part, &mut starts);
                    sweep(slices, part, &self_time, &mut open).unwrap_or_default()
                });
            }
        };
        let parts = by_track.parts_mut().zip(&mut tracks);
        share_out(parts, slices.len(), |(part, _)| part.len(), n_workers, work);
        // Collected in place: an atomic integer has the layout of the integer.
        let self_time = self_time.into_iter().map(AtomicI64::into_inner).collect();
        Self { self_time, tracks, by_track }
    }

    /// Returns the indices of the slices of a track, outer before inner: by start, then the longer first, then by
    /// position in the file.
    pub fn of_track(&self, track: TrackId) -> &[u32] {
        &self.by_track.slices[self.by_track.range(track.index())]
    }

    /// Returns the self times and the nesting by track. Frees the rest, 4 bytes per slice.
    pub fn into_parts(self) -> (Vec<i64>, Vec<TrackNesting>) {
        (self.self_time, self.tracks)
    }

    /// Calls `visit` for each slice of a track in the order of [`of_track`](Self::of_track), with the slices that
    /// contain it wholly, outermost first. Of slices that overlap partly, only the latest is passed.
    pub(crate) fn walk(&self, trace: &Trace, track: TrackId, mut visit: impl FnMut(u32, &[u32])) {
        let mut open: Vec<u32> = Vec::new();
        for &slice in self.of_track(track) {
            let end_min = enclosing_end_min(&trace.slices, slice as usize);
            while open.pop_if(|top| trace.slices.end(*top as usize) < end_min).is_some() {}
            visit(slice, &open);
            open.push(slice);
        }
    }

    /// Returns the sum of all self times, which equals the sum of the busy times of all tracks.
    pub fn total_self(&self) -> i64 {
        self.tracks.iter().fold(0, |sum: i64, track| sum.saturating_add(track.busy))
    }
}

/// Indices of all slices, grouped by track.
#[derive(Clone, Debug, Default)]
struct ByTrack {
    slices: Vec<u32>,
    /// End of each track's part of `slices`.
    ends: Vec<usize>,
}

impl ByTrack {
    /// Groups slices by track and keeps their order otherwise.
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
        // Each place has advanced to the end of its track.
        Self { slices: grouped, ends: next }
    }

    fn range(&self, track: usize) -> Range<usize> {
        let start = if track == 0 { 0 } else { self.ends[track - 1] };
        start..self.ends[track]
    }

    /// Returns the slices of each track.
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

/// Maximum number of slices that are sorted with a copy of their starts: 4 MiB. Small in tests, so that they divide.
const SORTED_AT_ONCE_MAX: usize = if cfg!(test) { 8 } else { 1 << 18 };

/// Sorts the slices of a track, outer before inner. `starts` is a scratch buffer.
///
/// The starts are sorted side by side in memory, which is 8 times as fast on random slices as a lookup of each key. Few
/// slices start together; these are sorted among themselves. A large track is divided first, so that the scratch buffer
/// is small; on a track in the order of ends this also takes a third less time.
fn sort(slices: &Slices, part: &mut [u32], starts: &mut Vec<(i64, u32)>) {
    if part.len() > SORTED_AT_ONCE_MAX {
        let (below, above) = divide(slices, part);
        sort(slices, below, starts);
        sort(slices, above, starts);
        return;
    }
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

/// Divides the slices of a track in two: each slice of the first part sorts before each one of the second.
fn divide<'a>(slices: &Slices, part: &'a mut [u32]) -> (&'a mut [u32], &'a mut [u32]) {
    // Tracks are almost in order, so the slice in the middle is usually close to the median.
    let middle = part.len() / 2;
    let pivot = nesting_key(slices, part[middle]);
    let is_below = |slice: u32| {
        let start = slices.start[slice as usize];
        start < pivot.0 || (start == pivot.0 && nesting_key(slices, slice) < pivot)
    };
    let n_below = partition(part, is_below);
    if n_below.min(part.len() - n_below) >= part.len() / 8 {
        return part.split_at_mut(n_below);
    }
    part.select_nth_unstable_by_key(middle, |&slice| nesting_key(slices, slice));
    part.split_at_mut(middle)
}

/// Moves the slices for which `is_below` holds to the front, and returns their number.
fn partition(part: &mut [u32], is_below: impl Fn(u32) -> bool) -> usize {
    let (mut low, mut high) = (0, part.len());
    loop {
        while low < high && is_below(part[low]) {
            low += 1;
        }
        while low < high && !is_below(part[high - 1]) {
            high -= 1;
        }
        if low == high {
            return low;
        }
        part.swap(low, high - 1);
        low += 1;
        high -= 1;
    }
}

/// Sort key that puts outer slices before inner ones: start, end, position in the file.
pub(crate) type NestingKey = (i64, Reverse<i64>, Order);

/// Returns the sort key of a slice.
pub(crate) fn nesting_key(slices: &Slices, slice: u32) -> NestingKey {
    let slice = slice as usize;
    (slices.start[slice], Reverse(slices.end(slice)), slices.order[slice])
}

/// Returns the earliest end of a slice that contains this one, given that it starts no later. A slice that starts where
/// another ends is not inside it, even if its duration is zero.
pub(crate) fn enclosing_end_min(slices: &Slices, slice: usize) -> i64 {
    slices.end(slice).max(slices.start[slice].saturating_add(1))
}

/// An open slice.
struct Open {
    slice: u32,
    end: i64,
    self_time: i64,
}

/// Error: the slices of a track are not in the order of their [`NestingKey`]s.
struct Unsorted;

/// Sweeps over the time of one track. `part` should be sorted; `open` is a scratch buffer for open slices.
///
/// Open slices always nest: a slice that a later one overlaps partly ends first, is never the latest again, and is
/// removed at once.
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
    // Start of the latest slice, and from there the time that is accounted for.
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

/// Computes the nesting depth of slices that arrive in the order of their starts.
///
/// Keeps, for each depth, the latest end of a slice at that depth that can still contain another. With partial overlaps
/// this differs from the number of open slices: the depth is the longest chain in which each slice lies in the one
/// before.
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
    fn children_that_precede_their_parents_in_the_file_nest_in_them() {
        let trace = test_traces::track(&[("leaf", 4, 6), ("inner", 2, 8), ("outer", 0, 11)]);
        let nesting = Nesting::of(&trace);
        assert_eq!(nesting.self_time, [2, 4, 5]);
        assert_eq!(nesting.of_track(TrackId(0)), [2, 1, 0]);
    }

    #[test]
    fn of_two_equal_slices_the_earlier_in_the_file_is_the_outer_one() {
        let nesting = Nesting::of(&test_traces::track(&[("outer", 0, 5), ("inner", 0, 5)]));
        assert_eq!(nesting.self_time, [0, 5]);
        assert_eq!(nesting.tracks[0].depth_max, 2);
    }

    #[test]
    fn shared_time_of_a_partial_overlap_belongs_to_the_later_slice() {
        let nesting = Nesting::of(&test_traces::track(&[("one", 0, 10), ("two", 5, 15), ("three", 8, 9)]));
        assert_eq!(nesting.self_time, [5, 9, 1]);
        let track = nesting.tracks[0];
        assert_eq!((track.busy, track.depth_max, track.n_partial_overlaps), (15, 2, 1));
    }

    #[test]
    fn depth_is_the_longest_chain_when_slices_overlap_partly() {
        // The last slice is in three nested slices, and in one that overlaps all of these.
        let slices = [("1", 0, 10), ("2", 1, 10), ("3", 2, 10), ("across", 5, 20), ("last", 6, 7)];
        let nesting = Nesting::of(&test_traces::track(&slices));
        assert_eq!((nesting.tracks[0].depth_max, nesting.tracks[0].n_partial_overlaps), (4, 3));
    }

    #[test]
    fn tracks_are_independent() {
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
    fn walk_passes_the_enclosing_slices() {
        let trace = test_traces::track(&[("outer", 0, 10), ("inner", 2, 8), ("leaf", 4, 6), ("at the end", 10, 10)]);
        let mut seen = Vec::new();
        Nesting::of(&trace).walk(&trace, TrackId(0), |slice, around| seen.push((slice, around.to_vec())));
        assert_eq!(seen, [(0, vec![]), (1, vec![0]), (2, vec![0, 1]), (3, vec![])]);
    }

    /// Slices at few distinct times, so that they often touch, overlap and nest.
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

    /// Self time of each slice, computed instant by instant.
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
        fn the_sweep_agrees_with_a_scan_of_each_instant(trace in slices()) {
            let nesting = Nesting::of(&trace);
            prop_assert_eq!(&nesting.self_time, &naive_self_time(&trace));
            for (track, _) in trace.tracks.iter() {
                prop_assert_eq!(nesting.tracks[track.index()], naive_track(&trace, track));
            }
            prop_assert_eq!(nesting.self_time.iter().sum::<i64>(), nesting.total_self());
        }
    }

    #[test]
    fn the_result_does_not_depend_on_the_number_of_workers() {
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
