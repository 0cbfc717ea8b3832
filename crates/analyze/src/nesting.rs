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

use ferrum_trace_model::{Slices, Trace, TrackId};
use std::cmp::Reverse;
use std::ops::Range;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Fewer slices than this are not worth another thread, nor another trip to the list of what is left to do.
const SLICES_A_TRIP_MIN: usize = 16 * 1024;

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

        let n_workers = n_workers.clamp(1, slices.len() / SLICES_A_TRIP_MIN + 1);
        sweep_all(slices, by_track.parts_mut().zip(&mut tracks), &self_time, n_workers);
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
    pub fn walk(&self, trace: &Trace, track: TrackId, mut visit: impl FnMut(u32, &[u32])) {
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

/// Sorts and sweeps all tracks, on so many threads.
fn sweep_all<'a>(
    slices: &Slices,
    tracks: impl Iterator<Item = (&'a mut [u32], &'a mut TrackNesting)> + Send,
    self_time: &[AtomicI64],
    n_workers: usize,
) {
    let left = Mutex::new(tracks);
    let work = || {
        let mut open = Vec::new();
        loop {
            let trip = take_some(&mut *left.lock().unwrap_or_else(PoisonError::into_inner));
            if trip.is_empty() {
                return;
            }
            for (part, track) in trip {
                sort(slices, part);
                *track = sweep(slices, part, self_time, &mut open);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..n_workers {
            scope.spawn(work);
        }
        work();
    });
}

/// Takes tracks until they are worth a trip.
fn take_some<'a, T>(work: &mut impl Iterator<Item = (&'a mut [u32], T)>) -> Vec<(&'a mut [u32], T)> {
    let mut n_slices = 0;
    let mut trip = Vec::new();
    while n_slices < SLICES_A_TRIP_MIN
        && let Some((part, track)) = work.next()
    {
        n_slices += part.len().max(1);
        trip.push((part, track));
    }
    trip
}

/// Sorts the slices of a track, the outer before the inner.
fn sort(slices: &Slices, part: &mut [u32]) {
    let key = |&slice: &u32| nesting_key(slices, slice);
    if !part.is_sorted_by_key(key) {
        // Stable, because that makes use of stretches that are sorted, of which recordings are full.
        part.sort_by_key(key);
    }
}

/// What sorts slices so that the outer comes before the inner.
pub(crate) fn nesting_key(slices: &Slices, slice: u32) -> (i64, Reverse<i64>, u32) {
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

/// Passes through the time of one track. `part` is sorted; `open` is room for the open slices.
///
/// All that are open lie in each other: one that is overlapped in part by a later one ends before that one does, so it
/// is never again the latest, and can be taken out at once.
fn sweep(slices: &Slices, part: &[u32], self_time: &[AtomicI64], open: &mut Vec<Open>) -> TrackNesting {
    let Some(&first) = part.first() else { return TrackNesting::default() };
    let first = slices.start[first as usize];
    let mut track = TrackNesting { n_slices: part.len(), first, last: first, ..TrackNesting::default() };
    let mut now = first;
    let mut depths = Depths::default();
    let store = |done: &Open| self_time[done.slice as usize].store(done.self_time, Ordering::Relaxed);

    for &slice in part {
        let (start, end) = (slices.start[slice as usize], slices.end(slice as usize));
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
    track
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
