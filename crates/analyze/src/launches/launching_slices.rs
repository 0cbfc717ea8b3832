//! Finds the slice of the host that launched each slice of a device.

use super::device_work::DeviceKey;
use super::flow_origins::FlowOrigins;
use super::launchers::{Launchers, WorkIds};
use crate::structure::ancestors::NONE;
use crate::structure::nesting::Nesting;
use ferrum_trace_model::vocab::device_track;
use ferrum_trace_model::{Trace, TrackId};

/// Returns the slice of the host that launched each slice: of device work the call or the operation with its id, else
/// the innermost slice where the flow to it begins. [`NONE`] for slices of the host and for unknown launches.
pub(crate) fn launching_slices(trace: &Trace, nesting: &Nesting, on_device: &[Option<DeviceKey>]) -> Vec<u32> {
    let launchers = Launchers::of(trace, on_device);
    let mut ids = WorkIds::of(trace);
    let mut launching = vec![NONE; trace.slices.len()];
    for (slice, _) in on_device.iter().enumerate().filter(|(_, device)| device.is_some()) {
        let launcher = ids.launcher(&launchers, trace.slices.order[slice]);
        launching[slice] = launcher.slice().unwrap_or(NONE);
    }
    add_launches_by_flow(trace, nesting, on_device, &mut launching);
    launching
}

/// Adds the launches of device work, and of slices around it, to which a flow leads.
fn add_launches_by_flow(trace: &Trace, nesting: &Nesting, on_device: &[Option<DeviceKey>], launching: &mut [u32]) {
    if trace.flows.end.is_empty() {
        return;
    }
    let is_device_track = device_tracks(trace);
    let slices = &trace.slices;
    let lacks_launch = |slice: &usize| {
        launching[*slice] == NONE && (on_device[*slice].is_some() || is_device_track[slices.track[*slice].index()])
    };
    let lacking: Vec<usize> = (0..slices.len()).filter(lacks_launch).collect();
    if lacking.is_empty() {
        return;
    }
    let origins = FlowOrigins::of(trace);
    let mut begins: Vec<Place> = Vec::new();
    for slice in lacking {
        if let Some((_, track, time)) = origins.of_slice(slices.track[slice], slices.start[slice]) {
            begins.push(Place { track, time, asked_by: slice as u32 });
        }
    }
    innermost_at(trace, nesting, begins, |slice, found| launching[slice as usize] = found);
}

/// Returns, for each track, whether it is named after a device.
fn device_tracks(trace: &Trace) -> Vec<bool> {
    let is_device = |name| device_track::parse(trace.strings.get(name)).is_some();
    trace.tracks.iter().map(|(_, track)| track.name.is_some_and(is_device)).collect()
}

/// A moment on a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    track: TrackId,
    time: i64,
    /// The slice that the answer is for.
    asked_by: u32,
}

/// Calls `found` with the innermost slice at each place, if there is one. A slice is open until its end, inclusive.
fn innermost_at(trace: &Trace, nesting: &Nesting, mut places: Vec<Place>, mut found: impl FnMut(u32, u32)) {
    places.sort_unstable();
    for on_track in places.chunk_by(|one, other| one.track == other.track) {
        let Some(first) = on_track.first() else { continue };
        let mut slices = nesting.of_track(first.track).iter().copied().peekable();
        let mut open: Vec<u32> = Vec::new();
        for place in on_track {
            open.extend(std::iter::from_fn(|| {
                slices.next_if(|&slice| trace.slices.start[slice as usize] <= place.time)
            }));
            while open.pop_if(|top| trace.slices.end(*top as usize) < place.time).is_some() {}
            if let Some(&slice) = open.last() {
                found(place.asked_by, slice);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kineto::{CORRELATION, EXTERNAL_ID};
    use crate::launches::device_work::works_of;
    use ferrum_trace_format::chrome::read::{LoadOptions, load};

    /// Name of the slice that launched each slice with the name `kernel`, in file order.
    fn launched_by(events: &[&str]) -> Vec<String> {
        let args = [CORRELATION, EXTERNAL_ID].map(str::to_owned).to_vec();
        let json = format!("[{}]", events.join(","));
        let trace = load(json.as_bytes(), &LoadOptions { args, ..LoadOptions::default() }).unwrap().trace;
        let launching = launching_slices(&trace, &Nesting::of(&trace), &works_of(&trace));
        let name = |slice: usize| trace.strings.get(trace.slices.name[slice]);
        let kernels = (0..launching.len()).filter(|&slice| name(slice) == "kernel").map(|slice| launching[slice]);
        kernels.map(|it| if it == NONE { "-".to_owned() } else { name(it as usize).to_owned() }).collect()
    }

    #[test]
    fn a_call_comes_before_an_operation() {
        let found = launched_by(&[
            r#"{"ph":"X","cat":"cpu_op","name":"aten::mm","ts":0,"dur":5,"pid":1,"tid":1,"args":{"External id":4}}"#,
            r#"{"ph":"X","cat":"cuda_runtime","name":"launch","ts":1,"dur":1,"pid":1,"tid":1,"args":{"correlation":7}}"#,
            r#"{"ph":"X","cat":"kernel","name":"kernel","ts":9,"dur":3,"pid":0,"tid":7,"args":{"correlation":7,"External id":4}}"#,
            r#"{"ph":"X","cat":"kernel","name":"kernel","ts":19,"dur":3,"pid":0,"tid":7,"args":{"correlation":8,"External id":4}}"#,
            r#"{"ph":"X","cat":"kernel","name":"kernel","ts":29,"dur":3,"pid":0,"tid":7,"args":{"correlation":9}}"#,
        ]);
        assert_eq!(found, ["launch", "aten::mm", "-"]);
    }

    #[test]
    fn all_kernels_of_a_graph_have_its_launch() {
        let found = launched_by(&[
            r#"{"ph":"X","cat":"cuda_runtime","name":"cudaGraphLaunch","ts":1,"dur":1,"pid":1,"tid":1,"args":{"correlation":7}}"#,
            r#"{"ph":"X","cat":"kernel","name":"kernel","ts":9,"dur":3,"pid":0,"tid":7,"args":{"correlation":7}}"#,
            r#"{"ph":"X","cat":"kernel","name":"kernel","ts":19,"dur":3,"pid":0,"tid":7,"args":{"correlation":7}}"#,
        ]);
        assert_eq!(found, ["cudaGraphLaunch", "cudaGraphLaunch"]);
    }

    #[test]
    fn operations_of_our_graphs_have_their_replay() {
        let found = launched_by(&[
            r#"{"ph":"M","name":"thread_name","pid":1,"tid":9,"args":{"name":"GPU 0 / queue"}}"#,
            r#"{"ph":"X","cat":"graph","name":"decode 8","ts":0,"dur":2,"pid":1,"tid":1,"args":{"correlation":94489280513}}"#,
            r#"{"ph":"X","cat":"gemm","name":"kernel","ts":30,"dur":5,"pid":1,"tid":9,"args":{"correlation":94489280513}}"#,
            r#"{"ph":"X","cat":"gemm","name":"kernel","ts":40,"dur":5,"pid":1,"tid":9,"args":{"correlation":94489280513}}"#,
        ]);
        assert_eq!(found, ["decode 8", "decode 8"]);
    }

    #[test]
    fn a_flow_leads_to_the_innermost_slice_at_its_begin() {
        let found = launched_by(&[
            r#"{"ph":"M","name":"thread_name","pid":1,"tid":9,"args":{"name":"GPU 0 / queue"}}"#,
            r#"{"ph":"X","cat":"","name":"outer","ts":0,"dur":20,"pid":1,"tid":1}"#,
            r#"{"ph":"X","cat":"","name":"first","ts":1,"dur":4,"pid":1,"tid":1}"#,
            r#"{"ph":"X","cat":"","name":"second","ts":6,"dur":4,"pid":1,"tid":1}"#,
            r#"{"ph":"s","cat":"","name":"flow","id":1,"ts":7,"pid":1,"tid":1}"#,
            r#"{"ph":"s","cat":"","name":"flow","id":2,"ts":12,"pid":1,"tid":1}"#,
            r#"{"ph":"f","cat":"","name":"flow","id":1,"ts":30,"pid":1,"tid":9}"#,
            r#"{"ph":"f","cat":"","name":"flow","id":2,"ts":40,"pid":1,"tid":9}"#,
            r#"{"ph":"X","cat":"gemm","name":"kernel","ts":30,"dur":5,"pid":1,"tid":9}"#,
            r#"{"ph":"X","cat":"gemm","name":"kernel","ts":40,"dur":5,"pid":1,"tid":9}"#,
            r#"{"ph":"X","cat":"gemm","name":"kernel","ts":50,"dur":5,"pid":1,"tid":9}"#,
        ]);
        assert_eq!(found, ["second", "outer", "-"]);
    }
}
