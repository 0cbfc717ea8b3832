//! Device work and the calls that launched it.

use super::messages::FlowLaunches;
use super::node::NONE;
use super::ranks::Ranks;
use crate::figures::gpu::DeviceKey;
use crate::kineto::{CORRELATION, EXTERNAL_ID, GPU_ANNOTATION, OPERATIONS};
use crate::launches::device_work::works_of;
use crate::structure::arg_reader::ArgReader;
use ferrum_trace_model::vocab::device::CLOCK_ERROR_NS;
use ferrum_trace_model::{ArgValue, StringId, Trace, TrackId};
use hashbrown::HashMap;

/// Longest delay between a launch and its work that can be the launch itself. A longer one has another cause.
pub(super) const DELAY_MAX: i64 = 1_000_000;

/// Category of the spans in which torch.profiler shows that a stream or the host waits.
const SYNC_SPANS: &str = "cuda_sync";
/// Category of the span that torch.profiler writes around everything.
const PROFILER_SPANS: &str = "Trace";

/// Rank and correlation of a call to the runtime of a device.
pub(super) type CallId = (Option<u32>, ArgValue);

/// Kernels and copies of a trace, with their launches.
#[derive(Debug, Default)]
pub(crate) struct Works {
    /// All work, by track and start.
    pub(crate) all: Vec<Work>,
    /// Index in `all` of the work of each slice; [`NONE`] for other slices.
    pub(crate) of_slice: Vec<u32>,
    /// True for tracks of devices.
    pub(crate) is_device_track: Vec<bool>,
    /// Calls with a correlation.
    pub(super) calls: HashMap<CallId, u32>,
}

/// A kernel or a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    /// Its slice.
    pub(crate) slice: u32,
    /// Track of its stream.
    pub(crate) track: TrackId,
    /// Its device.
    pub(crate) device: DeviceKey,
    /// Rank of its process.
    pub(crate) rank: Option<u32>,
    /// Its launch.
    pub(crate) launch: Launch,
    /// Largest error of its times, if it states one.
    pub(super) clock_error: i64,
}

/// Launch of device work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Launch {
    /// A call, or the operation around it if the call is not in the file.
    Call(u32),
    /// A moment on a thread, from which a flow leads to the work.
    Flow(TrackId, i64),
    /// The file has the launches of other work and not this one.
    OutsideFile,
    /// The file does not show launches.
    Unknown,
}

impl Works {
    /// Finds the device work of a trace.
    pub(crate) fn of(trace: &Trace, ranks: &Ranks, flows: &FlowLaunches) -> Self {
        let devices = works_of(trace);
        let mut is_device_track = vec![false; trace.tracks.len()];
        for (slice, _) in devices.iter().enumerate().filter(|(_, device)| device.is_some()) {
            is_device_track[trace.slices.track[slice].index()] = true;
        }
        let launches = Launches::of(trace, ranks, &devices);
        let mut works = Self { is_device_track, of_slice: vec![NONE; trace.slices.len()], ..Self::default() };
        let mut args = Args::of(trace);
        for (slice, device) in devices.iter().enumerate() {
            let Some(device) = *device else { continue };
            let track = trace.slices.track[slice];
            let rank = ranks.of_track(trace, track);
            let launch = launches.of_work(trace, flows, &mut args, slice, rank);
            let clock_error = args.clock_error(trace, slice);
            works.all.push(Work { slice: slice as u32, track, device, rank, launch, clock_error });
        }
        works.all.sort_unstable_by_key(|work| {
            let slice = work.slice as usize;
            (work.track, trace.slices.start[slice], trace.slices.end(slice), work.slice)
        });
        for (place, work) in works.all.iter().enumerate() {
            works.of_slice[work.slice as usize] = place as u32;
        }
        works.calls = launches.calls;
        works
    }

    /// Returns true if a slice is neither device work nor on a track of a device, so that a thread did it.
    pub(super) fn is_host(&self, trace: &Trace, slice: usize) -> bool {
        self.of_slice.get(slice) == Some(&NONE) && !self.is_device_track[trace.slices.track[slice].index()]
    }

    /// Returns the end of a work.
    pub(super) fn end(&self, trace: &Trace, work: u32) -> i64 {
        trace.slices.end(self.all[work as usize].slice as usize)
    }

    /// Returns the moment of a launch: the begin of its call.
    pub(super) fn launch_time(&self, trace: &Trace, work: &Work) -> Option<i64> {
        match work.launch {
            Launch::Call(call) => Some(trace.slices.start[call as usize]),
            Launch::Flow(_, time) => Some(time),
            Launch::OutsideFile | Launch::Unknown => None,
        }
    }
}

/// Categories of spans that show no work of a thread.
const MARKERS: [&str; N_MARKERS] = [SYNC_SPANS, PROFILER_SPANS, GPU_ANNOTATION];
/// Number of these categories.
pub(super) const N_MARKERS: usize = 3;

/// Returns the categories of spans that show no work of a thread.
pub(super) fn marker_categories(trace: &Trace) -> [Option<StringId>; N_MARKERS] {
    MARKERS.map(|text| trace.strings.find(text))
}

/// Readers of the arguments that join work and launches.
struct Args<'a> {
    correlation: ArgReader<'a>,
    external: ArgReader<'a>,
    clock_error: ArgReader<'a>,
}

impl<'a> Args<'a> {
    fn of(trace: &'a Trace) -> Self {
        let reader = |key| ArgReader::of(trace, key);
        Self { correlation: reader(CORRELATION), external: reader(EXTERNAL_ID), clock_error: reader(CLOCK_ERROR_NS) }
    }

    fn clock_error(&mut self, trace: &Trace, slice: usize) -> i64 {
        let error = self.clock_error.get(trace.slices.order[slice]).and_then(|error| error.number(&trace.strings));
        error.and_then(|error| error.try_into().ok()).unwrap_or(0)
    }
}

/// Calls and operations that launch work.
struct Launches {
    calls: HashMap<CallId, u32>,
    operations: HashMap<CallId, u32>,
}

impl Launches {
    fn of(trace: &Trace, ranks: &Ranks, devices: &[Option<DeviceKey>]) -> Self {
        let markers = marker_categories(trace);
        let operations = OPERATIONS.map(|category| trace.strings.find(category));
        let mut args = Args::of(trace);
        let mut launches = Self { calls: HashMap::new(), operations: HashMap::new() };
        for slice in (0..trace.slices.len()).filter(|&slice| devices[slice].is_none()) {
            let category = trace.slices.category[slice];
            let order = trace.slices.order[slice];
            let correlation = args.correlation.get(order);
            let external = args.external.get(order).filter(|_| operations.contains(&Some(category)));
            if (correlation.is_none() && external.is_none()) || markers.contains(&Some(category)) {
                continue;
            }
            let rank = ranks.of_track(trace, trace.slices.track[slice]);
            let (id, map) = match (correlation, external) {
                (Some(id), _) => (id, &mut launches.calls),
                (None, Some(id)) => (id, &mut launches.operations),
                (None, None) => continue,
            };
            let known = map.entry((rank, id)).or_insert(slice as u32);
            if trace.slices.start[slice] < trace.slices.start[*known as usize] {
                *known = slice as u32;
            }
        }
        launches
    }

    fn of_work(
        &self,
        trace: &Trace,
        flows: &FlowLaunches,
        args: &mut Args<'_>,
        slice: usize,
        rank: Option<u32>,
    ) -> Launch {
        let order = trace.slices.order[slice];
        let correlation = args.correlation.get(order);
        let find = |map: &HashMap<CallId, u32>, id: Option<ArgValue>| {
            let call = *map.get(&(rank, id?))?;
            // A launch after its work belongs to other work, or the clocks differ.
            (trace.slices.start[call as usize] <= trace.slices.start[slice]).then_some(Launch::Call(call))
        };
        let by_call = find(&self.calls, correlation);
        let by_operation = || find(&self.operations, args.external.get(order));
        let by_flow = || flows.of_work(trace.slices.track[slice], trace.slices.start[slice]);
        let is_joined = correlation.is_some() && !self.calls.is_empty();
        let otherwise = if is_joined { Launch::OutsideFile } else { Launch::Unknown };
        by_call.or_else(by_operation).or_else(by_flow).unwrap_or(otherwise)
    }
}
