//! Figures of devices: busy time, and communication that is hidden behind computation.

pub(crate) use crate::launches::device_work::{DeviceKey, DeviceSlice, DeviceWork, device_slices};

use ferrum_trace_model::{ProcessId, Trace, TrackId};
use std::collections::BTreeMap;

/// Figures of one device. Times are nanoseconds.
///
/// In traces of torch a device is a process that has kernels or copies. Kernels are slices of the category `kernel`,
/// copies those of `gpu_memcpy` and `gpu_memset`, or as torch spelled them in 2021: `Kernel`, `Memcpy`, `Memset`. A
/// kernel communicates if its name starts with `nccl` or `rccl`, in any case, or contains `ncclDevKernel` or
/// `ncclKernel`; the other kernels compute.
///
/// In traces of this recorder a device is identified by the names of its tracks, see `vocab::device_track::parse`.
/// Slices of such a track are kernels, or copies if their category is `memory`; slices that contain others are groups
/// and do not count. A kernel communicates if its category is `comm` or if its name is that of a communication kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// The process that represents the device or owns it.
    pub process: ProcessId,
    /// Its number, if track names state it.
    pub number: Option<u32>,
    /// Number of kernels and copies.
    pub n_slices: usize,
    /// Number of kernels.
    pub n_kernels: usize,
    /// Number of kernels that communicate.
    pub n_comm: usize,
    /// The sum of the durations of kernels.
    pub kernel_total: i64,
    /// Time from the start of the first slice to the end of the last.
    pub span: i64,
    /// Time in which any stream has a kernel or a copy.
    pub busy: i64,
    /// The rest of the span.
    pub idle: i64,
    /// Time in which any kernel communicates.
    pub comm: i64,
    /// Time in which any kernel computes.
    pub comp: i64,
    /// Time in which kernels communicate and compute.
    pub overlap: i64,
    /// Time in which a kernel communicates and none computes.
    pub exposed_comm: i64,
    /// Its streams, in file order.
    pub streams: Vec<Stream>,
}

/// One stream of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// The track of the stream.
    pub track: TrackId,
    /// Number of kernels and copies on it.
    pub n_slices: usize,
    /// Time in which it has any, in nanoseconds.
    pub busy: i64,
}

/// Returns the devices of a trace, in file order.
pub fn devices(trace: &Trace) -> Vec<Device> {
    let mut works: BTreeMap<DeviceKey, Work> = BTreeMap::new();
    for DeviceSlice { slice, device, kind } in device_slices(trace) {
        let time = (trace.slices.start[slice], trace.slices.end(slice));
        works.entry(device).or_default().add(trace.slices.track[slice], kind, time);
    }
    works.into_iter().map(|((process, number), work)| work.device(process, number)).collect()
}

/// Stretches of time (from, to).
type Times = Vec<(i64, i64)>;

/// Work of a device, by kind.
#[derive(Default)]
struct Work {
    comm: Times,
    comp: Times,
    copies: Times,
    streams: BTreeMap<TrackId, Times>,
}

impl Work {
    fn add(&mut self, track: TrackId, kind: DeviceWork, time: (i64, i64)) {
        match kind {
            DeviceWork::Comm => self.comm.push(time),
            DeviceWork::Comp => self.comp.push(time),
            DeviceWork::Copy => self.copies.push(time),
        }
        self.streams.entry(track).or_default().push(time);
    }

    fn device(mut self, process: ProcessId, number: Option<u32>) -> Device {
        let (n_comm, n_kernels) = (self.comm.len(), self.comm.len() + self.comp.len());
        let kernel_total = self.comm.iter().chain(&self.comp).fold(0, |sum, time| add(sum, length(*time)));
        let (comm, comp) = (union(&mut self.comm), union(&mut self.comp));
        let mut all = [self.comm, self.comp].concat();
        let overlap = add(comm, comp).saturating_sub(union(&mut all));
        all.append(&mut self.copies);
        let busy = union(&mut all);
        let first = all.iter().map(|&(from, _)| from).min().unwrap_or(0);
        let last = all.iter().map(|&(_, to)| to).max().unwrap_or(0);
        let span = length((first, last));
        let stream =
            |(track, mut times): (TrackId, Times)| Stream { track, n_slices: times.len(), busy: union(&mut times) };
        Device {
            process,
            number,
            n_slices: all.len(),
            n_kernels,
            n_comm,
            kernel_total,
            span,
            busy,
            idle: span.saturating_sub(busy),
            comm,
            comp,
            overlap,
            exposed_comm: comm.saturating_sub(overlap),
            streams: self.streams.into_iter().map(stream).collect(),
        }
    }
}

fn add(time: i64, other: i64) -> i64 {
    time.saturating_add(other)
}

fn length((from, to): (i64, i64)) -> i64 {
    to.saturating_sub(from)
}

/// Sorts the stretches and returns the time that any of them covers.
fn union(times: &mut Times) -> i64 {
    times.sort_unstable();
    let mut covered_to = i64::MIN;
    let mut sum = 0;
    for &(from, to) in times.iter() {
        sum = add(sum, length((from.max(covered_to), to)).max(0));
        covered_to = covered_to.max(to);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_traces;
    use proptest::prelude::*;

    #[test]
    fn communication_is_exposed_where_nothing_computes() {
        let trace = test_traces::trace(&[
            ("0", "7", "kernel", "gemm", 0, 10),
            ("0", "20", "kernel", "ncclDevKernel_AllReduce", 5, 15),
            ("0", "7", "gpu_memcpy", "Memcpy HtoD", 14, 18),
            ("9", "9", "cpu_op", "aten::mm", 0, 90),
            ("1", "7", "Kernel", "old", 30, 31),
        ]);
        let [first, second] = &devices(&trace)[..] else { panic!("two devices") };
        let expected = Device {
            process: ProcessId(0),
            number: None,
            n_slices: 3,
            n_kernels: 2,
            n_comm: 1,
            kernel_total: 20,
            span: 18,
            busy: 18,
            idle: 0,
            comm: 10,
            comp: 10,
            overlap: 5,
            exposed_comm: 5,
            streams: vec![
                Stream { track: TrackId(0), n_slices: 2, busy: 14 },
                Stream { track: TrackId(1), n_slices: 1, busy: 10 },
            ],
        };
        assert_eq!(first, &expected);
        assert_eq!((second.busy, second.span, second.idle, second.n_kernels), (1, 1, 0, 1));
        assert_eq!(devices(&test_traces::track(&[("a", 0, 1)])), []);
    }

    #[test]
    fn a_device_is_identified_by_its_track_names() {
        let mut trace = test_traces::trace(&[
            ("1", "10", "layer", "layer", 0, 20),
            ("1", "10", "gemm", "qkv", 0, 10),
            ("1", "10", "attention", "marker", 5, 5),
            ("1", "10", "norm", "rms", 12, 20),
            ("1", "11", "comm", "all_reduce", 8, 16),
            ("1", "11", "memory", "to host", 20, 24),
            ("1", "12", "gemm", "on the second", 3, 4),
            ("1", "1", "gemm", "on the host", 0, 90),
        ]);
        for (track, name) in [(0, "GPU 0 / stream 7"), (1, "GPU 0 / stream 20"), (2, "GPU 1"), (3, "main")] {
            trace.tracks.get_mut(TrackId(track)).name = Some(trace.strings.intern(name));
        }
        let [first, second] = &devices(&trace)[..] else { panic!("two devices") };
        assert_eq!((first.number, first.n_slices, first.n_kernels, first.n_comm), (Some(0), 5, 4, 1));
        assert_eq!((first.span, first.busy, first.idle), (24, 24, 0));
        assert_eq!((first.comm, first.comp, first.overlap, first.exposed_comm), (8, 18, 6, 2));
        assert_eq!(first.streams.iter().map(|stream| stream.busy).collect::<Vec<_>>(), [18, 12]);
        assert_eq!((second.number, second.process, second.busy), (Some(1), ProcessId(0), 1));
    }

    proptest! {
        #[test]
        fn the_union_agrees_with_a_count_of_instants(times in prop::collection::vec((0_i64..50, 0_i64..10), 0..20)) {
            let mut times: Times = times.into_iter().map(|(from, length)| (from, from + length)).collect();
            let covered = (0..60).filter(|now| times.iter().any(|(from, to)| from <= now && now < to)).count();
            prop_assert_eq!(union(&mut times), covered as i64);
        }
    }
}
