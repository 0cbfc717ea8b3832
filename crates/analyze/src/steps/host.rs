//! Slices and gaps in a step on its own track.

use super::find::MarkedSlice;
use crate::structure::gaps::{GapPlace, find_gaps};
use crate::structure::nesting::Nesting;
use crate::structure::nesting::nesting_key;
use ferrum_trace_model::{StringId, Trace};
use hashbrown::HashMap;

/// Returns the slices of a step's track that start within it and before the next step, outer before inner.
pub(crate) fn inside<'a>(trace: &Trace, nesting: &'a Nesting, step: &MarkedSlice) -> &'a [u32] {
    let slices = &trace.slices;
    let slice = step.slice as usize;
    let of_track = nesting.of_track(slices.track[slice]);
    let (key, end) = (nesting_key(slices, step.slice), slices.end(slice));
    let first = of_track.partition_point(|&other| nesting_key(slices, other) <= key);
    let next = step.next.map(|next| nesting_key(slices, next));
    let is_inside =
        |&other: &u32| slices.start[other as usize] < end && next.is_none_or(|next| nesting_key(slices, other) < next);
    let last = of_track.partition_point(is_inside);
    of_track.get(first..last).unwrap_or_default()
}

/// Finds the stretches of a step that are in no slice. They sum to its self time.
pub(super) fn gaps(trace: &Trace, nesting: &Nesting, step: &MarkedSlice, found: impl FnMut(GapPlace, i64)) {
    let slices = &trace.slices;
    let time = (slices.start[step.slice as usize], slices.end(step.slice as usize));
    let stretch = |&slice: &u32| {
        let slice = slice as usize;
        (slices.start[slice], slices.end(slice), slices.name[slice])
    };
    let stretches = inside(trace, nesting, step).iter().chain(&step.next).map(stretch);
    find_gaps(time, stretches, found);
}

/// Returns self time and count of each name in a step.
pub(super) fn by_name(trace: &Trace, nesting: &Nesting, step: &MarkedSlice) -> HashMap<StringId, (i64, u64)> {
    let mut sums: HashMap<StringId, (i64, u64)> = HashMap::new();
    for slice in inside(trace, nesting, step).iter().map(|&slice| slice as usize) {
        let (sum, count) = sums.entry(trace.slices.name[slice]).or_default();
        *sum = sum.saturating_add(nesting.self_time[slice]);
        *count += 1;
    }
    sums
}

/// Returns the longest stretch of a step that is in no slice.
pub(super) fn longest_gap(trace: &Trace, nesting: &Nesting, step: &MarkedSlice) -> Option<(GapPlace, i64)> {
    let mut longest: Option<(GapPlace, i64)> = None;
    gaps(trace, nesting, step, |place, length| {
        if longest.is_none_or(|(_, so_far)| so_far < length) {
            longest = Some((place, length));
        }
    });
    longest
}
