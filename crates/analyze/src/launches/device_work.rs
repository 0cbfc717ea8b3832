//! Slices that are work of devices.

use crate::kineto;
use crate::structure::arg_filter::arg_column;
use crate::structure::arg_reader::ArgReader;
use ferrum_trace_model::vocab::device::CLOCK_ERROR_NS;
use ferrum_trace_model::vocab::{Op, device_track};
use ferrum_trace_model::{ProcessId, StringId, Trace, TrackId};
use std::cmp::Reverse;

/// Maximum number of open slices that are tested for containing another, so that the time stays linear when all slices
/// overlap.
const TESTED_MAX: usize = 8;

/// Kind of work of a device slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceWork {
    Comm,
    Comp,
    Copy,
}

impl DeviceWork {
    /// Returns the kind of a slice on a track that is named after a device.
    pub(crate) fn of(name: &str, category: &str) -> Self {
        match Op::from_text(category) {
            Some(Op::Memory) => Self::Copy,
            Some(Op::Comm) => Self::Comm,
            _ if is_comm(name) => Self::Comm,
            _ => Self::Comp,
        }
    }
}

/// A device: the process that represents or owns it, and its number if track names state it.
pub(crate) type DeviceKey = (ProcessId, Option<u32>);

/// A kernel or a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceSlice {
    pub slice: usize,
    pub device: DeviceKey,
    pub kind: DeviceWork,
}

/// Returns all kernels and copies of a trace, those of torch first.
pub(crate) fn device_slices(trace: &Trace) -> Vec<DeviceSlice> {
    let mut all = Vec::new();
    for_each_device_slice(trace, |found| all.push(found));
    all
}

fn for_each_device_slice(trace: &Trace, mut take: impl FnMut(DeviceSlice)) {
    let kinds = DeviceCategories::of(trace);
    let mut on_named = NamedTracks::of(trace);
    let mut names = CommNames::of(trace);
    for (slice, &category) in trace.slices.category.iter().enumerate() {
        let track = trace.slices.track[slice];
        let Some(is_kernel) = kinds.is_kernel(category) else {
            on_named.add(track, slice);
            continue;
        };
        let kind = match is_kernel {
            false => DeviceWork::Copy,
            true if names.is_comm(trace.slices.name[slice]) => DeviceWork::Comm,
            true => DeviceWork::Comp,
        };
        take(DeviceSlice { slice, device: (trace.tracks.get(track).process, None), kind });
    }
    for (track, number, slices) in on_named.into_slices() {
        let device = (trace.tracks.get(track).process, Some(number));
        for slice in without_groups(trace, slices) {
            let text = |id| trace.strings.get(id);
            let kind = DeviceWork::of(text(trace.slices.name[slice]), text(trace.slices.category[slice]));
            take(DeviceSlice { slice, device, kind });
        }
    }
}

/// Returns the device of each slice that is device work: the slices that [`device_slices`] finds, and slices that a
/// device measured on a track that is not named after one.
pub(crate) fn works_of(trace: &Trace) -> Vec<Option<DeviceKey>> {
    let mut works = vec![None; trace.slices.len()];
    for_each_work(trace, |slice, device| _ = works[slice].get_or_insert(device));
    works
}

/// Returns, for each slice, whether it is device work. It takes a tenth of the memory of [`works_of`].
pub(crate) fn is_work(trace: &Trace) -> Vec<bool> {
    let mut is_work = vec![false; trace.slices.len()];
    for_each_work(trace, |slice, _| is_work[slice] = true);
    is_work
}

/// Calls `take` with each slice that is device work. It may do so twice for a slice; the first device is its own.
fn for_each_work(trace: &Trace, mut take: impl FnMut(usize, DeviceKey)) {
    for_each_device_slice(trace, |found| take(found.slice, found.device));
    if arg_column(trace, CLOCK_ERROR_NS).is_none_or(|column| column.order.is_empty()) {
        return;
    }
    let mut clock_error = ArgReader::of(trace, CLOCK_ERROR_NS);
    for (slice, &order) in trace.slices.order.iter().enumerate() {
        if clock_error.get(order).is_some() {
            let track = trace.tracks.get(trace.slices.track[slice]);
            let is_named = track.name.is_some_and(|name| device_track::parse(trace.strings.get(name)).is_some());
            // Measured slices on such a track that are not work enclose work.
            if !is_named {
                take(slice, (track.process, None));
            }
        }
    }
}

/// An entry of a list that tells which slices are device work.
pub(crate) trait IsWork {
    /// Returns true if the slice is device work.
    fn is_work(&self) -> bool;
}

impl IsWork for bool {
    fn is_work(&self) -> bool {
        *self
    }
}

impl IsWork for Option<DeviceKey> {
    fn is_work(&self) -> bool {
        self.is_some()
    }
}

/// Slices of the tracks that are named after devices.
struct NamedTracks {
    /// One entry per track: the number of its device, if any, and its slices.
    devices: Vec<Option<(u32, Vec<usize>)>>,
}

impl NamedTracks {
    fn of(trace: &Trace) -> Self {
        let of_name = |name: Option<StringId>| device_track::parse(trace.strings.get(name?));
        let devices = trace.tracks.iter().map(|(_, track)| Some((of_name(track.name)?.device, Vec::new())));
        Self { devices: devices.collect() }
    }

    fn add(&mut self, track: TrackId, slice: usize) {
        if let Some((_, slices)) = &mut self.devices[track.index()] {
            slices.push(slice);
        }
    }

    fn into_slices(self) -> impl Iterator<Item = (TrackId, u32, Vec<usize>)> {
        let with_slices = |(n, device): (usize, Option<(u32, Vec<usize>)>)| {
            let (number, slices) = device?;
            (!slices.is_empty()).then_some((TrackId(n as u32), number, slices))
        };
        self.devices.into_iter().enumerate().filter_map(with_slices)
    }
}

/// Returns the slices of a track that contain no other slice of nonzero duration.
fn without_groups(trace: &Trace, mut slices: Vec<usize>) -> impl Iterator<Item = usize> {
    let times = |slice: usize| (trace.slices.start[slice], trace.slices.end(slice));
    let key = |slice: usize| (times(slice).0, Reverse(times(slice).1), trace.slices.order[slice]);
    slices.sort_unstable_by_key(|&slice| key(slice));
    let mut is_group = vec![false; slices.len()];
    let mut open: Vec<usize> = Vec::new();
    for (n, &slice) in slices.iter().enumerate() {
        let (start, end) = times(slice);
        while open.pop_if(|outer| times(slices[*outer]).1 <= start).is_some() {}
        if end > start
            && let Some(&outer) = open.iter().rev().take(TESTED_MAX).find(|outer| times(slices[**outer]).1 >= end)
        {
            is_group[outer] = true;
        }
        open.push(n);
    }
    slices.into_iter().zip(is_group).filter(|(_, is_group)| !is_group).map(|(slice, _)| slice)
}

/// Categories of device slices.
struct DeviceCategories {
    kernels: [Option<StringId>; 2],
    copies: [Option<StringId>; 4],
}

impl DeviceCategories {
    fn of(trace: &Trace) -> Self {
        Self {
            kernels: [kineto::KERNEL, kineto::KERNEL_2021].map(|text| trace.strings.find(text)),
            copies: [kineto::MEMCPY, kineto::MEMSET, kineto::MEMCPY_2021, kineto::MEMSET_2021]
                .map(|text| trace.strings.find(text)),
        }
    }

    /// Returns true for a category of kernels, false for another category of devices, and `None` for any other
    /// category.
    fn is_kernel(&self, category: StringId) -> Option<bool> {
        if self.kernels.contains(&Some(category)) {
            return Some(true);
        }
        self.copies.contains(&Some(category)).then_some(false)
    }
}

/// Names of kernels, each tested once: they are long, and few compared with the kernels.
struct CommNames<'a> {
    trace: &'a Trace,
    known: Vec<Option<bool>>,
}

impl<'a> CommNames<'a> {
    fn of(trace: &'a Trace) -> Self {
        Self { trace, known: vec![None; trace.strings.len()] }
    }

    fn is_comm(&mut self, name: StringId) -> bool {
        *self.known[name.index()].get_or_insert_with(|| is_comm(self.trace.strings.get(name)))
    }
}

fn is_comm(name: &str) -> bool {
    let starts_with_library =
        name.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("nccl") || start.eq_ignore_ascii_case("rccl"));
    starts_with_library || name.contains("ncclDevKernel") || name.contains("ncclKernel")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn communication_kernels_are_recognized_by_name() {
        for name in ["ncclKernel", "NCCL_x", "RcclY", "void ncclDevKernel_z", "_ncclKernel"] {
            assert!(is_comm(name), "{name}");
        }
        for name in ["", "ncc", "gemm nccl", "ncç", "all_reduce"] {
            assert!(!is_comm(name), "{name}");
        }
    }
}
