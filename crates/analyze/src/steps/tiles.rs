//! Tiles of a step: pieces that cover its time without gap or overlap.
//!
//! Every moment of a step belongs to exactly one source. Device work comes first: while a kernel or a copy of the step
//! runs, the host does not determine how long the step takes. The rest belongs to the innermost slice of the step's
//! track, to no slice, or, after the mark, to the wait for the device:
//!
//! ```text
//! mark     |-------------------------|
//! host       |--a--|     |---b----|
//! device           |---k1---|              |--k2--|
//! tiles    .  a     k1       b    .  waiting  k2
//! ```
//!
//! So the tiles of a step sum to its duration, to the nanosecond.

use super::device::Work;
use super::find::MarkedSlice;
use super::host::inside;
use super::step::Step;
use crate::structure::nesting::Nesting;
use ferrum_trace_model::Trace;

/// Source of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TileSource {
    /// A kernel or a copy of the step: the one that started last of those that run.
    Device(u32),
    /// A slice of the step's track: the innermost one. No device works for the step.
    Host(u32),
    /// No slice of the step's track, within its mark.
    Gap,
    /// The time after the mark in which no device works for the step.
    Waiting,
}

/// A stretch of time with the slice that it belongs to, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stretch {
    start: i64,
    end: i64,
    slice: Option<u32>,
}

/// Cuts steps into tiles. Keeps its buffers between steps.
#[derive(Debug, Default)]
pub(crate) struct Tiler {
    times: Vec<(i64, i64, u32)>,
    on_host: Vec<Stretch>,
    on_device: Vec<Stretch>,
    open: Vec<(i64, u32)>,
}

impl Tiler {
    /// Calls `visit` for each tile of a step, in time order. `works` is the device work of this step.
    pub(crate) fn tiles(
        &mut self,
        trace: &Trace,
        nesting: &Nesting,
        (step, marked): (&Step, &MarkedSlice),
        works: &[Work],
        mut visit: impl FnMut(TileSource, i64),
    ) {
        let mark = (trace.slices.start[step.slice as usize], trace.slices.end(step.slice as usize));
        let Self { times, on_host, on_device, open } = self;
        let time = |slice: u32| (trace.slices.start[slice as usize], trace.slices.end(slice as usize), slice);
        times.clear();
        times.extend(works.iter().map(|work| time(work.slice)));
        times.sort_unstable_by_key(|&(start, end, slice)| (start, std::cmp::Reverse(end), slice));
        cover((step.start, step.end()), times, open, on_device);
        on_host.clear();
        if step.split.host > 0 || step.split.both > 0 {
            times.clear();
            times.extend(inside(trace, nesting, marked).iter().chain(&marked.next).map(|&slice| time(slice)));
            cover(mark, times, open, on_host);
        }
        let mut host = on_host.iter().copied().peekable();
        for stretch in &*on_device {
            if let Some(slice) = stretch.slice {
                visit(TileSource::Device(slice), stretch.end.saturating_sub(stretch.start));
                continue;
            }
            let mut now = stretch.start;
            while now < stretch.end {
                while host.next_if(|tile| tile.end <= now).is_some() {}
                let (source, end) = match host.peek() {
                    Some(tile) if tile.start <= now => (tile.slice.map_or(TileSource::Gap, TileSource::Host), tile.end),
                    Some(tile) => (TileSource::Waiting, tile.start),
                    None => (TileSource::Waiting, stretch.end),
                };
                let end = end.min(stretch.end);
                visit(source, end.saturating_sub(now));
                now = end;
            }
        }
    }
}

/// Covers a range of time with stretches: each moment belongs to the slice that started last of those that are open.
/// `times` must be sorted by start, outer slices first. `open` is a scratch buffer.
fn cover((from, to): (i64, i64), times: &[(i64, i64, u32)], open: &mut Vec<(i64, u32)>, stretches: &mut Vec<Stretch>) {
    stretches.clear();
    open.clear();
    let mut now = from;
    for &(start, end, slice) in times {
        advance(&mut now, start.clamp(from, to), open, stretches);
        open.push((end.min(to), slice));
    }
    advance(&mut now, to, open, stretches);
}

/// Adds the stretches from `now` to `until`.
fn advance(now: &mut i64, until: i64, open: &mut Vec<(i64, u32)>, stretches: &mut Vec<Stretch>) {
    while *now < until {
        while open.pop_if(|(end, _)| *end <= *now).is_some() {}
        let (end, slice) = open.last().map_or((until, None), |&(end, slice)| (end.min(until), Some(slice)));
        stretches.push(Stretch { start: *now, end, slice });
        *now = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn covered(range: (i64, i64), times: &[(i64, i64, u32)]) -> Vec<Stretch> {
        let mut stretches = Vec::new();
        cover(range, times, &mut Vec::new(), &mut stretches);
        stretches
    }

    #[test]
    fn time_belongs_to_the_slice_that_started_last() {
        let found = covered((0, 20), &[(2, 10, 1), (4, 6, 2), (5, 12, 3)]);
        let stretch = |start, end, slice| Stretch { start, end, slice };
        let expected = [
            stretch(0, 2, None),
            stretch(2, 4, Some(1)),
            stretch(4, 5, Some(2)),
            stretch(5, 12, Some(3)),
            stretch(12, 20, None),
        ];
        assert_eq!(found, expected);
    }

    proptest! {
        #[test]
        fn stretches_cover_the_range_without_gap_or_overlap(
            mut times in prop::collection::vec((0_i64..40, 0_i64..20), 0..10),
        ) {
            times.sort_unstable();
            let times: Vec<_> = times.iter().zip(0..).map(|(&(start, length), n)| (start, start + length, n)).collect();
            let mut now = 5;
            for stretch in covered((5, 35), &times) {
                prop_assert_eq!(stretch.start, now);
                prop_assert!(stretch.end > stretch.start);
                for moment in stretch.start..stretch.end {
                    let latest = times.iter().rev().find(|(start, end, _)| (*start..*end).contains(&moment));
                    prop_assert_eq!(stretch.slice, latest.map(|&(_, _, slice)| slice));
                }
                now = stretch.end;
            }
            prop_assert_eq!(now, 35);
        }
    }
}
