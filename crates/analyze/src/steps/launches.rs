//! Calls that launch device work, and steps whose launches have none.

use super::lookup::StepLookup;
use crate::kineto::{CORRELATION, RUNTIMES};
use crate::launches::device_work::DeviceKey;
use crate::launches::launchers::Launchers;
use crate::structure::arg_reader::ArgReader;
use ferrum_trace_model::{StringId, Trace};
use hashbrown::HashMap;

/// Launches without device work.
#[derive(Debug, Default)]
pub(super) struct Unanswered {
    /// Launches without any device work, by step.
    pub n_by_step: Vec<u32>,
    /// True if there is a call that launches device work, in a step or not.
    pub has_launches: bool,
}

impl Unanswered {
    /// Finds the launches of a trace. `on_device` has the device of the slices that are device work.
    pub(super) fn of(
        trace: &Trace,
        lookup: &StepLookup,
        on_device: &[Option<DeviceKey>],
        launchers: &Launchers,
        n_steps: usize,
    ) -> Self {
        let mut unanswered = Self { n_by_step: vec![0; n_steps], has_launches: false };
        let mut calls = Calls::of(trace);
        let mut correlation = ArgReader::of(trace, CORRELATION);
        let mut is_capturing = vec![false; n_steps];
        for slice in (0..trace.slices.len()).filter(|&slice| on_device[slice].is_none()) {
            let Some(call) = calls.kind(trace, slice) else { continue };
            unanswered.has_launches |= call == Call::Launch;
            let step = lookup.step_at(trace, trace.slices.track[slice], trace.slices.start[slice]);
            let Some(step) = step.map(|step| step as usize) else { continue };
            let id = correlation.get(trace.slices.order[slice]);
            // A launch without a correlation cannot be matched: it counts as unanswered only if there is no device work
            // at all.
            let is_unanswered = id.map_or(!launchers.is_correlated, |id| !launchers.is_answered(id));
            match call {
                Call::Launch => unanswered.n_by_step[step] += u32::from(is_unanswered),
                Call::Capture => is_capturing[step] = true,
            }
        }
        // Launches that are captured into a graph run later, by the launch of the graph.
        for (n_unanswered, _) in unanswered.n_by_step.iter_mut().zip(is_capturing).filter(|(_, is)| *is) {
            *n_unanswered = 0;
        }
        unanswered
    }
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
