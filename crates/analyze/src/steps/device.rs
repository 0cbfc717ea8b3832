//! Work of devices for each step.

use super::annotations::Annotations;
use super::find::Found;
use super::launches::Unanswered;
use super::lookup::StepLookup;
use crate::launches::device_work::DeviceKey;
pub(crate) use crate::launches::device_work::works_of;
use crate::launches::flow_origins::FlowOrigins;
use crate::launches::launchers::{Launcher, Launchers, WorkIds};
use crate::structure::gaps::{Gaps, find_gaps};
use ferrum_trace_model::Trace;
use hashbrown::HashSet;
use std::cell::LazyCell;

/// Time of devices. Times are nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceTime {
    /// Number of kernels and copies.
    pub n_slices: u64,
    /// Time from the start of the first to the end of the last, summed over devices.
    pub span: i64,
    /// Part of the span in which at least one runs.
    pub busy: i64,
}

impl DeviceTime {
    /// Returns the rest of the span.
    pub fn idle(&self) -> i64 {
        self.span.saturating_sub(self.busy)
    }

    /// Adds the time of another step.
    pub fn add(&mut self, other: &Self) {
        self.n_slices += other.n_slices;
        self.span = self.span.saturating_add(other.span);
        self.busy = self.busy.saturating_add(other.busy);
    }
}

/// Number of kernels and copies of a trace by the way in which their steps were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attribution {
    /// By the call that launched them, or that launched their graph: it has the same correlation.
    pub by_launch: u64,
    /// By the operation that launched them: it has the same `External id`, and its calls are not in the file.
    pub by_operation: u64,
    /// By the flow that ends where they start.
    pub by_flow: u64,
    /// By the device mark of a step that they lie in.
    pub by_annotation: u64,
    /// By their start during the mark of the step on the host.
    pub by_time: u64,
    /// Kernels and copies that belong to no step.
    pub outside: u64,
    /// The sum of their durations.
    pub outside_total: i64,
}

/// A kernel or a copy of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    /// Index of the step.
    pub step: u32,
    /// The device.
    pub device: DeviceKey,
    /// Its start.
    pub start: i64,
    /// Its slice.
    pub slice: u32,
}

/// All kernels and copies of a trace, and launches without them.
#[derive(Debug)]
pub(super) struct Attributed {
    /// Work that belongs to steps, by step, device and start.
    pub works: Vec<Work>,
    /// Counts by the way in which steps were found.
    pub sums: Attribution,
    /// True if there is any work, in steps or not.
    pub has_work: bool,
    /// True if the host has a call that launches work.
    pub has_launches: bool,
    /// Launches without any kernel or copy, by step.
    pub n_unanswered: Vec<u32>,
}

/// Finds the step of each kernel and each copy.
pub(super) fn attribute(trace: &Trace, found: &Found) -> Attributed {
    let on_device = works_of(trace);
    let lookup = StepLookup::of(trace, found.steps.iter().map(|step| step.slice));
    let launchers = Launchers::of(trace, &on_device);
    let unanswered = Unanswered::of(trace, &lookup, &on_device, &launchers, found.steps.len());
    let origins = LazyCell::new(|| FlowOrigins::of(trace));
    let annotations = Annotations::of(trace, found);
    let (mut works, mut sums, mut flow_kinds) = (Vec::new(), Attribution::default(), HashSet::new());
    let mut ids = WorkIds::of(trace);
    let step_of = |slice: u32| {
        let slice = slice as usize;
        lookup.step_at(trace, trace.slices.track[slice], trace.slices.start[slice])
    };
    for (slice, &device) in on_device.iter().enumerate() {
        let Some(device) = device else { continue };
        let (start, track, order) = (trace.slices.start[slice], trace.slices.track[slice], trace.slices.order[slice]);
        // A step that a device marks has the work that runs in it, regardless of its launch.
        let launcher = match found.is_on_device {
            true => Launcher::Unknown,
            false => ids.launcher(&launchers, order),
        };
        let (step, count) = if let Launcher::Call(call) = launcher {
            (step_of(call), &mut sums.by_launch)
        } else if let Launcher::Operation(operation) = launcher {
            (step_of(operation), &mut sums.by_operation)
        } else if !found.is_on_device
            && let Some((kind, track, time)) = origins.of_slice(track, start)
        {
            flow_kinds.insert(kind);
            (lookup.step_at(trace, track, time), &mut sums.by_flow)
        } else if let Some(step) = annotations.step_at(track, start) {
            (Some(step), &mut sums.by_annotation)
        } else if launcher == Launcher::OutsideFile {
            (None, &mut sums.by_time)
        } else {
            (lookup.step_at(trace, track, start), &mut sums.by_time)
        };
        *count += u64::from(step.is_some());
        match step {
            Some(step) => works.push(Work { step, device, start, slice: slice as u32 }),
            None => {
                sums.outside += 1;
                sums.outside_total = sums.outside_total.saturating_add(trace.slices.duration[slice]);
            }
        }
    }
    works.sort_unstable_by_key(|work| (work.step, work.device, work.start, work.slice));
    let mut n_unanswered = unanswered.n_by_step;
    if !flow_kinds.is_empty() {
        for (track, time) in origins.unended(&flow_kinds) {
            if let Some(step) = lookup.step_at(trace, track, time) {
                n_unanswered[step as usize] += 1;
            }
        }
    }
    let has_work = sums != Attribution::default();
    Attributed { works, sums, has_work, has_launches: unanswered.has_launches, n_unanswered }
}

/// Returns the time of devices in each step, and the gaps in which they idle.
pub(super) fn times(trace: &Trace, works: &[Work], n_steps: usize) -> (Vec<DeviceTime>, Gaps) {
    let mut times = vec![DeviceTime::default(); n_steps];
    let mut gaps = Gaps::default();
    for of_step in works.chunk_by(|one, other| (one.step, one.device) == (other.step, other.device)) {
        let Some(first) = of_step.first() else { continue };
        let slices = &trace.slices;
        let end = of_step.iter().map(|work| slices.end(work.slice as usize)).max().unwrap_or(first.start);
        let stretch = |work: &Work| (work.start, slices.end(work.slice as usize), slices.name[work.slice as usize]);
        let mut idle = 0_i64;
        find_gaps((first.start, end), of_step.iter().map(stretch), |place, length| {
            idle = idle.saturating_add(length);
            gaps.add(place, length);
        });
        let span = end.saturating_sub(first.start);
        let time = DeviceTime { n_slices: of_step.len() as u64, span, busy: span.saturating_sub(idle) };
        times[first.step as usize].add(&time);
    }
    (times, gaps)
}
