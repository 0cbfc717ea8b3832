//! What devices do for each step.

use super::find::{Found, MarkedSlice};
use super::lookup::StepLookup;
use super::origins::FlowOrigins;
use crate::gaps::{Gaps, find_gaps};
use crate::gpu::{DeviceKey, device_slices};
use ferrum_trace_model::vocab::device::CLOCK_ERROR_NS;
use ferrum_trace_model::vocab::device_track;
use ferrum_trace_model::{ArgColumn, Order, StringId, Trace, TrackId};
use hashbrown::HashMap;
use std::cell::LazyCell;

/// The argument by which torch.profiler joins a kernel with the call that launched it.
pub const CORRELATION: &str = "correlation";

/// Time of devices. Times are nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceTime {
    /// How many kernels and copies there are.
    pub n_slices: u64,
    /// From the start of the first to the end of the last, summed over devices.
    pub span: i64,
    /// The part of it in which there is at least one.
    pub busy: i64,
}

impl DeviceTime {
    /// The rest of the span.
    pub fn idle(&self) -> i64 {
        self.span.saturating_sub(self.busy)
    }

    /// Adds what another step has.
    pub fn add(&mut self, other: &Self) {
        self.n_slices += other.n_slices;
        self.span = self.span.saturating_add(other.span);
        self.busy = self.busy.saturating_add(other.busy);
    }
}

/// How the kernels and copies of a trace came to their steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attribution {
    /// By the call that launched them, or the graph they are in: it has the same correlation.
    pub by_launch: u64,
    /// By the flow that ends where they start.
    pub by_flow: u64,
    /// By lying in what the device shows for a step's mark.
    pub by_annotation: u64,
    /// By starting while the host was in the step.
    pub by_time: u64,
    /// Those that belong to no step.
    pub outside: u64,
    /// The sum of their durations.
    pub outside_total: i64,
}

/// A kernel or a copy of a step.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// The step, by its place.
    pub step: u32,
    /// The device.
    pub device: DeviceKey,
    /// When it starts.
    pub start: i64,
    /// Its slice.
    pub slice: u32,
}

/// Finds the step of each kernel and each copy. They come by step, device and start.
pub fn attribute(trace: &Trace, found: &Found) -> (Vec<Work>, Attribution) {
    let on_device = works_of(trace);
    let lookup = StepLookup::of(trace, found.steps.iter().map(|step| step.slice));
    let launches = Launches::of(trace, &lookup, &on_device);
    let origins = LazyCell::new(|| FlowOrigins::of(trace));
    let annotations = Annotations::of(trace, found);
    let mut works = Vec::new();
    let mut sums = Attribution::default();
    let mut correlation = ArgReader::of(trace, CORRELATION);
    for (slice, device) in on_device.into_iter().enumerate() {
        let Some(device) = device else { continue };
        let (start, track) = (trace.slices.start[slice], trace.slices.track[slice]);
        let launch = correlation.get(trace.slices.order[slice]).and_then(|id| launches.steps.get(&id));
        let step = if let Some(&step) = launch {
            sums.by_launch += u64::from(step.is_some());
            step
        } else if let Some((track, time)) = origins.of_slice(track, start) {
            let step = lookup.step_at(trace, track, time);
            sums.by_flow += u64::from(step.is_some());
            step
        } else if let Some(step) = annotations.step_at(track, start) {
            sums.by_annotation += 1;
            Some(step)
        } else {
            let step = lookup.step_at(trace, track, start);
            sums.by_time += u64::from(step.is_some());
            step
        };
        match step {
            Some(step) => works.push(Work { step, device, start, slice: slice as u32 }),
            None => {
                sums.outside += 1;
                sums.outside_total = sums.outside_total.saturating_add(trace.slices.duration[slice]);
            }
        }
    }
    works.sort_unstable_by_key(|work| (work.step, work.device, work.start, work.slice));
    (works, sums)
}

/// The time of devices in each step, and where they idle.
pub fn times(trace: &Trace, works: &[Work], n_steps: usize) -> (Vec<DeviceTime>, Gaps) {
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

/// Which step launched what.
struct Launches {
    /// By correlation; `None` is a launch outside of steps.
    steps: HashMap<StringId, Option<u32>>,
}

impl Launches {
    fn of(trace: &Trace, lookup: &StepLookup, on_device: &[Option<DeviceKey>]) -> Self {
        let mut steps = HashMap::new();
        let mut correlation = ArgReader::of(trace, CORRELATION);
        for (slice, device) in on_device.iter().enumerate() {
            if device.is_none()
                && let Some(id) = correlation.get(trace.slices.order[slice])
            {
                steps.insert(id, lookup.step_at(trace, trace.slices.track[slice], trace.slices.start[slice]));
            }
        }
        Self { steps }
    }
}

/// The device of each slice that is work of one: what [`device_slices`] finds, and what a device measured on a track that is not named
/// after one.
fn works_of(trace: &Trace) -> Vec<Option<DeviceKey>> {
    let mut works = vec![None; trace.slices.len()];
    for found in device_slices(trace) {
        works[found.slice] = Some(found.device);
    }
    let mut clock_error = ArgReader::of(trace, CLOCK_ERROR_NS);
    for (slice, work) in works.iter_mut().enumerate() {
        if clock_error.get(trace.slices.order[slice]).is_some() {
            let track = trace.tracks.get(trace.slices.track[slice]);
            let is_named = track.name.is_some_and(|name| device_track::parse(trace.strings.get(name)).is_some());
            // What is measured there and is no work lies around some.
            *work = work.or_else(|| (!is_named).then_some((track.process, None)));
        }
    }
    works
}

/// Reads a column of arguments along with slices, which mostly have the same order.
struct ArgReader<'a> {
    column: Option<&'a ArgColumn>,
    place: usize,
}

impl<'a> ArgReader<'a> {
    fn of(trace: &'a Trace, key: &str) -> Self {
        Self { column: trace.args.iter().find(|column| column.key == key), place: 0 }
    }

    fn get(&mut self, order: Order) -> Option<StringId> {
        let column = self.column?;
        if self.place > 0 && column.order[self.place - 1] >= order {
            return column.of(order);
        }
        while *column.order.get(self.place)? < order {
            self.place += 1;
        }
        (column.order[self.place] == order).then(|| column.value[self.place])
    }
}

/// What devices show for the marks of steps.
struct Annotations {
    /// By track: start, end and step, by start.
    by_track: HashMap<TrackId, Vec<(i64, i64, u32)>>,
}

impl Annotations {
    /// The n-th of a name on a track is for the n-th step of that name; where there are not as many, nothing is known.
    fn of(trace: &Trace, found: &Found) -> Self {
        let name = |found: &MarkedSlice| trace.slices.name[found.slice as usize];
        let mut steps: HashMap<StringId, Vec<u32>> = HashMap::new();
        for (place, step) in found.steps.iter().enumerate() {
            steps.entry(name(step)).or_default().push(place as u32);
        }
        let mut shown: HashMap<(TrackId, StringId), Vec<&MarkedSlice>> = HashMap::new();
        for mark in &found.on_device {
            shown.entry((trace.slices.track[mark.slice as usize], name(mark))).or_default().push(mark);
        }
        let mut by_track: HashMap<TrackId, Vec<(i64, i64, u32)>> = HashMap::new();
        for ((track, name), marks) in shown {
            let Some(steps) = steps.get(&name).filter(|steps| steps.len() == marks.len()) else { continue };
            let time = |mark: &MarkedSlice| {
                let slice = mark.slice as usize;
                (trace.slices.start[slice], trace.slices.end(slice))
            };
            let of_track = by_track.entry(track).or_default();
            of_track.extend(marks.iter().zip(steps).map(|(mark, &step)| {
                let (start, end) = time(mark);
                (start, end, step)
            }));
        }
        for of_track in by_track.values_mut() {
            of_track.sort_unstable();
        }
        Self { by_track }
    }

    fn step_at(&self, track: TrackId, time: i64) -> Option<u32> {
        let of_track = self.by_track.get(&track)?;
        let n_started = of_track.partition_point(|&(start, ..)| start <= time);
        let &(_, end, step) = of_track.get(n_started.checked_sub(1)?)?;
        (time < end).then_some(step)
    }
}
