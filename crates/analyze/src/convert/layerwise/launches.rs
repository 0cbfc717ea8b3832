//! What launched the kernels of a trace.

use super::roles::{NONE, Role, Roles};
use crate::Nesting;
use crate::steps::CORRELATION;
use ferrum_trace_model::{End, StringId, Trace, TrackId};
use hashbrown::HashMap;

/// Where and when a kernel was launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    pub track: TrackId,
    pub time: i64,
}

/// The launch of each slice, as far as the trace tells.
pub fn launches(trace: &Trace, nesting: &Nesting, roles: &Roles) -> Vec<Option<Launch>> {
    let mut launches = vec![None; trace.slices.len()];
    by_correlation(trace, roles, &mut launches);
    by_flows(trace, nesting, roles, &mut launches);
    inherit(roles, &mut launches);
    launches
}

/// The innermost slice of a track at a time, both ends included.
pub fn innermost_at(trace: &Trace, nesting: &Nesting, parents: &[u32], track: TrackId, time: i64) -> Option<u32> {
    let slices = nesting.of_track(track);
    let n_begun = slices.partition_point(|&slice| trace.slices.start[slice as usize] <= time);
    let mut slice = *slices[..n_begun].last()?;
    while trace.slices.end(slice as usize) < time {
        slice = parents[slice as usize];
        if slice == NONE {
            return None;
        }
    }
    Some(slice)
}

/// torch gives a kernel and its call the same number.
fn by_correlation(trace: &Trace, roles: &Roles, launches: &mut [Option<Launch>]) {
    let Some(column) = trace.args.iter().find(|column| column.key == CORRELATION) else { return };
    let with_role = |wanted: Role| (0..launches.len()).filter(move |&slice| roles.roles[slice] == wanted);
    let number = |slice: usize| column.of(trace.slices.order[slice]);
    let of_slice = |slice: usize| Launch { track: trace.slices.track[slice], time: trace.slices.start[slice] };
    let calls: HashMap<StringId, Launch> =
        with_role(Role::Call).filter_map(|slice| Some((number(slice)?, of_slice(slice)))).collect();
    for slice in with_role(Role::Kernel).collect::<Vec<_>>() {
        launches[slice] = number(slice).and_then(|number| calls.get(&number).copied());
    }
}

/// In our traces, arrows lead from the host to the device.
fn by_flows(trace: &Trace, nesting: &Nesting, roles: &Roles, launches: &mut [Option<Launch>]) {
    let flows = &trace.flows;
    let key = |n: usize| (flows.category[n], flows.name[n], flows.id[n]);
    let mut begins: Vec<usize> = (0..flows.time.len()).filter(|&n| flows.end[n] == End::Begin).collect();
    begins.sort_by_key(|&n| (key(n), flows.time[n]));
    for end in (0..flows.time.len()).filter(|&n| flows.end[n] != End::Begin) {
        let slice = innermost_at(trace, nesting, &roles.parents, flows.track[end], flows.time[end]);
        let Some(slice) = slice.map(|slice| slice as usize) else { continue };
        if !matches!(roles.roles[slice], Role::Kernel | Role::Group) || launches[slice].is_some() {
            continue;
        }
        // The latest before; where clocks disagree, the earliest after.
        let n_before = begins.partition_point(|&n| (key(n), flows.time[n]) <= (key(end), flows.time[end]));
        let around = [n_before.checked_sub(1), Some(n_before)].into_iter().flatten();
        let begin = around.filter_map(|place| begins.get(place)).find(|&&n| key(n) == key(end));
        let launch = begin.map(|&n| Launch { track: flows.track[n], time: flows.time[n] });
        launches[slice] = launch;
        // What is around it and begins just there was launched with it.
        let mut around = roles.parents[slice];
        while around != NONE && trace.slices.start[around as usize] == flows.time[end] {
            launches[around as usize] = launches[around as usize].or(launch);
            around = roles.parents[around as usize];
        }
    }
}

/// What was not launched by itself was launched with what it lies in.
fn inherit(roles: &Roles, launches: &mut [Option<Launch>]) {
    for slice in 0..launches.len() {
        if roles.roles[slice] != Role::Kernel {
            continue;
        }
        let mut around = roles.parents[slice];
        while launches[slice].is_none() && around != NONE {
            launches[slice] = launches[around as usize];
            around = roles.parents[around as usize];
        }
    }
}
