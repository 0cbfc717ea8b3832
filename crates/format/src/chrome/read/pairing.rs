//! Pairs begins and ends to slices.

use super::columns::Edges;
use ferrum_trace_model::{Slice, StringId, Trace};

/// Pairs the begins and ends of each track in the order of time: an end closes the innermost open begin, even if their
/// names differ.
pub fn pair(trace: &mut Trace, edges: &Edges) {
    let mut by_track: Vec<u32> = (0..edges.time.len() as u32).collect();
    // The sort is stable, so the events of a track stay in the order of the file.
    by_track.sort_by_key(|&n| edges.track[n as usize]);
    for of_track in by_track.chunk_by_mut(|&one, &other| edges.track[one as usize] == edges.track[other as usize]) {
        let time = |n: &u32| edges.time[*n as usize];
        if !of_track.is_sorted_by_key(time) {
            trace.census.anomalies.unordered_tracks += 1;
            of_track.sort_by_key(time);
        }
        pair_track(trace, edges, of_track);
    }
}

fn pair_track(trace: &mut Trace, edges: &Edges, of_track: &[u32]) {
    let mut open: Vec<usize> = Vec::new();
    for n in of_track.iter().map(|&n| n as usize) {
        if edges.is_begin[n] {
            open.push(n);
            continue;
        }
        let Some(begin) = open.pop() else {
            trace.census.anomalies.unopened += 1;
            continue;
        };
        let (name, end_name) = (edges.name[begin], edges.name[n]);
        trace.census.anomalies.misnamed += u64::from(end_name != StringId::EMPTY && end_name != name);
        trace.slices.push(Slice {
            start: edges.time[begin],
            duration: edges.time[n].saturating_sub(edges.time[begin]),
            name,
            category: edges.category[begin],
            track: edges.track[begin],
            order: edges.order[begin],
        });
    }
    trace.census.anomalies.unclosed += open.len() as u64;
}
