//! Finds the launch of each kernel.

use super::roles::{NONE, Role, Roles};
use crate::kineto::CORRELATION;
use crate::structure::flow_key::flow_key;
use crate::structure::nesting::Nesting;
use ferrum_trace_model::{ArgValue, End, Trace, TrackId};
use hashbrown::HashMap;

/// Track and time of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Launch {
    pub track: TrackId,
    pub time: i64,
}

/// Returns the launch of each slice, if known.
pub(super) fn launches(trace: &Trace, nesting: &Nesting, roles: &Roles) -> Vec<Option<Launch>> {
    let mut launches = vec![None; trace.slices.len()];
    by_correlation(trace, roles, &mut launches);
    by_flows(trace, nesting, roles, &mut launches);
    inherit(trace, nesting, roles, &mut launches);
    launches
}

/// Returns the innermost slice of a track at a time, both ends included.
pub(super) fn innermost_at(trace: &Trace, nesting: &Nesting, roles: &Roles, track: TrackId, time: i64) -> Option<u32> {
    let slices = nesting.of_track(track);
    let n_begun = slices.partition_point(|&slice| trace.slices.start[slice as usize] <= time);
    // A slice ends no later than the slices around it.
    roles.around.innermost(*slices[..n_begun].last()?, |slice| trace.slices.end(slice as usize) >= time)
}

/// Joins kernels and calls by the correlation id that torch gives to both.
fn by_correlation(trace: &Trace, roles: &Roles, launches: &mut [Option<Launch>]) {
    let Some(column) = trace.args.iter().find(|column| column.key == CORRELATION) else { return };
    let with_role = |wanted: Role| (0..launches.len()).filter(move |&slice| roles.roles[slice] == wanted);
    let number = |slice: usize| column.of(trace.slices.order[slice]);
    let of_slice = |slice: usize| Launch { track: trace.slices.track[slice], time: trace.slices.start[slice] };
    let calls: HashMap<ArgValue, Launch> =
        with_role(Role::Call).filter_map(|slice| Some((number(slice)?, of_slice(slice)))).collect();
    for slice in with_role(Role::Kernel).collect::<Vec<_>>() {
        launches[slice] = number(slice).and_then(|number| calls.get(&number).copied());
    }
}

/// Joins kernels and launches by flows from the host to the device, as our traces have them.
fn by_flows(trace: &Trace, nesting: &Nesting, roles: &Roles, launches: &mut [Option<Launch>]) {
    let flows = &trace.flows;
    let key = |n: usize| flow_key(flows, n);
    let mut begins: Vec<usize> = (0..flows.time.len()).filter(|&n| flows.end[n] == End::Begin).collect();
    begins.sort_by_key(|&n| (key(n), flows.time[n]));
    for end in (0..flows.time.len()).filter(|&n| flows.end[n] != End::Begin) {
        let slice = innermost_at(trace, nesting, roles, flows.track[end], flows.time[end]);
        let Some(slice) = slice.map(|slice| slice as usize) else { continue };
        if !matches!(roles.roles[slice], Role::Kernel | Role::Group) || launches[slice].is_some() {
            continue;
        }
        // The latest begin before the end; where clocks disagree, the earliest after.
        let n_before = begins.partition_point(|&n| (key(n), flows.time[n]) <= (key(end), flows.time[end]));
        let around = [n_before.checked_sub(1), Some(n_before)].into_iter().flatten();
        let begin = around.filter_map(|place| begins.get(place)).find(|&&n| key(n) == key(end));
        let Some(launch) = begin.map(|&n| Launch { track: flows.track[n], time: flows.time[n] }) else { continue };
        launches[slice] = Some(launch);
        // Slices around it that begin at the same time were launched with it.
        let mut around = roles.parent(slice as u32);
        while around != NONE && trace.slices.start[around as usize] == flows.time[end] {
            launches[around as usize].get_or_insert(launch);
            around = roles.parent(around);
        }
    }
}

/// Gives slices without a launch that of the slice around them.
fn inherit(trace: &Trace, nesting: &Nesting, roles: &Roles, launches: &mut [Option<Launch>]) {
    // Outer slices come first.
    for &slice in trace.tracks.iter().flat_map(|(track, _)| nesting.of_track(track)) {
        let around = roles.parent(slice);
        if launches[slice as usize].is_none() && around != NONE {
            launches[slice as usize] = launches[around as usize];
        }
    }
}
