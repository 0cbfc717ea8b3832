//! Finds the step that launched a kernel or a copy.

use super::args::ArgReader;
use super::lookup::StepLookup;
use crate::figures::gpu::DeviceKey;
use crate::kineto::{CORRELATION, EXTERNAL_ID, OPERATIONS, RUNTIMES};
use ferrum_trace_model::{StringId, Trace};
use hashbrown::{HashMap, HashSet};

/// Calls of the host that launch device work, with their steps.
#[derive(Debug, Default)]
pub(super) struct Launches {
    /// Step by correlation; `None` is a launch outside of steps.
    by_correlation: HashMap<StringId, Option<u32>>,
    /// Step by the `External id` of the operation around the launch; `None` is an operation outside of steps.
    by_operation: HashMap<StringId, Option<u32>>,
    /// True if any device work has the correlation of a launch.
    is_joined: bool,
    /// Launches without any device work, by step.
    pub n_unanswered: Vec<u32>,
    /// True if there is a call that launches device work, in a step or not.
    pub has_launches: bool,
}

/// Origin of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Launch {
    /// Launched by this call; the step is `None` if the call is in no step.
    ByCall(Option<u32>),
    /// Launched within this operation.
    ByOperation(Option<u32>),
    /// Other kernels have their launches in the file and this one has not: it was launched before the file begins.
    OutsideFile,
    /// Unknown.
    Unknown,
}

impl Launches {
    /// Finds the launches of a trace. `on_device` has the device of the slices that are device work.
    pub(super) fn of(trace: &Trace, lookup: &StepLookup, on_device: &[Option<DeviceKey>], n_steps: usize) -> Self {
        let mut launches = Self { n_unanswered: vec![0; n_steps], ..Self::default() };
        let answered = correlations_of_devices(trace, on_device);
        let mut calls = Calls::of(trace);
        let mut correlation = ArgReader::of(trace, CORRELATION);
        let mut external = ArgReader::of(trace, EXTERNAL_ID);
        let operations = OPERATIONS.map(|category| trace.strings.find(category));
        let mut is_capturing = vec![false; n_steps];
        for slice in (0..trace.slices.len()).filter(|&slice| on_device[slice].is_none()) {
            let order = trace.slices.order[slice];
            let (id, call) = (correlation.get(order), calls.kind(trace, slice));
            let is_operation = operations.contains(&Some(trace.slices.category[slice]));
            let operation = external.get(order).filter(|_| is_operation);
            if id.is_none() && call.is_none() && operation.is_none() {
                continue;
            }
            let step = lookup.step_at(trace, trace.slices.track[slice], trace.slices.start[slice]);
            if let Some(id) = id {
                launches.is_joined |= answered.contains(&id);
                launches.by_correlation.insert(id, step);
            }
            if let Some(operation) = operation {
                launches.by_operation.insert(operation, step);
            }
            launches.has_launches |= call == Some(Call::Launch);
            // A launch without a correlation cannot be matched: it counts as unanswered only if there is no device work
            // at all.
            let is_unanswered = id.map_or(answered.is_empty(), |id| !answered.contains(&id));
            match (call, step) {
                (Some(Call::Launch), Some(step)) => {
                    launches.n_unanswered[step as usize] += u32::from(is_unanswered);
                }
                (Some(Call::Capture), Some(step)) => is_capturing[step as usize] = true,
                _ => {}
            }
        }
        // Launches that are captured into a graph run later, by the launch of the graph.
        for (n_unanswered, _) in launches.n_unanswered.iter_mut().zip(is_capturing).filter(|(_, is)| *is) {
            *n_unanswered = 0;
        }
        launches
    }

    /// Returns the launch of a kernel with these arguments.
    pub(super) fn of_kernel(&self, correlation: Option<StringId>, external: Option<StringId>) -> Launch {
        if let Some(&step) = correlation.and_then(|id| self.by_correlation.get(&id)) {
            return Launch::ByCall(step);
        }
        if let Some(&step) = external.and_then(|id| self.by_operation.get(&id)) {
            return Launch::ByOperation(step);
        }
        if correlation.is_some() && self.is_joined { Launch::OutsideFile } else { Launch::Unknown }
    }
}

fn correlations_of_devices(trace: &Trace, on_device: &[Option<DeviceKey>]) -> HashSet<StringId> {
    let mut correlation = ArgReader::of(trace, CORRELATION);
    let works = on_device.iter().zip(&trace.slices.order).filter(|(device, _)| device.is_some());
    works.filter_map(|(_, &order)| correlation.get(order)).collect()
}

/// Call to the runtime of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    /// Launches kernels.
    Launch,
    /// Begins to capture launches into a graph instead of running them.
    Capture,
}

impl Call {
    /// Returns the call of a name. Copies and memsets do not count as launches: real traces lack the device part of
    /// some that did run.
    fn of_name(name: &str) -> Option<Self> {
        if name.contains("StreamBeginCapture") {
            return Some(Self::Capture);
        }
        (name.contains("Launch") && !name.contains("HostFunc")).then_some(Self::Launch)
    }
}

/// Classifies the calls of a trace; each name is parsed once.
struct Calls {
    runtimes: [Option<StringId>; RUNTIMES.len()],
    by_name: HashMap<StringId, Option<Call>>,
}

impl Calls {
    fn of(trace: &Trace) -> Self {
        Self { runtimes: RUNTIMES.map(|category| trace.strings.find(category)), by_name: HashMap::new() }
    }

    fn kind(&mut self, trace: &Trace, slice: usize) -> Option<Call> {
        if !self.runtimes.contains(&Some(trace.slices.category[slice])) {
            return None;
        }
        let name = trace.slices.name[slice];
        *self.by_name.entry(name).or_insert_with(|| Call::of_name(trace.strings.get(name)))
    }
}
