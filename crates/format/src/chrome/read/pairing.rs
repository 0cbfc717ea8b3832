//! Pairs begins and ends to slices.

use super::columns::BeginEnds;
use ferrum_trace_model::{Slice, StringId, Trace};

/// Pairs the begins and ends of each track in the order of time: an end closes the innermost open begin, even if their
/// names differ.
pub(crate) fn pair(trace: &mut Trace, begin_ends: &BeginEnds) {
    let mut grouped = by_track(begin_ends, trace.tracks.len());
    for of_track in
        grouped.chunk_by_mut(|&one, &other| begin_ends.track[one as usize] == begin_ends.track[other as usize])
    {
        let time = |n: &u32| begin_ends.time[*n as usize];
        if !of_track.is_sorted_by_key(time) {
            trace.census.anomalies.unordered_tracks += 1;
            of_track.sort_by_key(time);
        }
        pair_track(trace, begin_ends, of_track);
    }
}

/// Returns the indices of all events, track by track; those of a track are in the order of the file.
fn by_track(begin_ends: &BeginEnds, n_tracks: usize) -> Vec<u32> {
    let mut next = vec![0_u32; n_tracks];
    for track in &begin_ends.track {
        next[track.index()] += 1;
    }
    let mut sum = 0;
    for count in &mut next {
        sum += std::mem::replace(count, sum);
    }
    let mut grouped = vec![0; begin_ends.track.len()];
    for (n, track) in begin_ends.track.iter().enumerate() {
        let place = &mut next[track.index()];
        grouped[*place as usize] = n as u32;
        *place += 1;
    }
    grouped
}

fn pair_track(trace: &mut Trace, begin_ends: &BeginEnds, of_track: &[u32]) {
    let mut open: Vec<usize> = Vec::new();
    for n in of_track.iter().map(|&n| n as usize) {
        if begin_ends.is_begin[n] {
            open.push(n);
            continue;
        }
        let Some(begin) = open.pop() else {
            trace.census.anomalies.unopened += 1;
            continue;
        };
        let (name, end_name) = (begin_ends.name[begin], begin_ends.name[n]);
        trace.census.anomalies.misnamed += u64::from(end_name != StringId::EMPTY && end_name != name);
        trace.slices.push(Slice {
            start: begin_ends.time[begin],
            duration: begin_ends.time[n].saturating_sub(begin_ends.time[begin]),
            name,
            category: begin_ends.category[begin],
            track: begin_ends.track[begin],
            order: begin_ends.order[begin],
        });
    }
    trace.census.anomalies.unclosed += open.len() as u64;
}
