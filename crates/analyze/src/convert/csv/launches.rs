//! The step that launched a kernel, while slices and flows arrive in time order.

use super::step_tracker::StepRef;
use crate::convert::flows::Remembered;
use crate::convert::hash::hash;
use hashbrown::HashMap;

/// Minimum number of launches that are kept. Older ones may be forgotten.
const KEPT: usize = 1 << 18;

/// Launches that may still have kernels.
#[derive(Debug)]
pub(super) struct Launches {
    /// Step of each launch, by the hash of its correlation or its flow; `None` is a launch outside of steps.
    steps: Remembered<Option<StepRef>>,
    /// Time and launch of the latest flow that ended on each track.
    arrived: HashMap<u32, (i64, Option<Option<StepRef>>)>,
}

impl Default for Launches {
    fn default() -> Self {
        Self { steps: Remembered::new(KEPT), arrived: HashMap::new() }
    }
}

impl Launches {
    /// Adds a call with this correlation.
    pub(super) fn call(&mut self, correlation: &str, step: Option<StepRef>) {
        self.steps.set(hash(&("correlation", correlation)), step);
    }

    /// Returns the step of the call with this correlation; `None` if there was no such call.
    pub(super) fn of_correlation(&mut self, correlation: &str) -> Option<Option<StepRef>> {
        self.steps.get(hash(&("correlation", correlation)))
    }

    /// Begins a flow.
    pub(super) fn flow_begin(&mut self, flow: u64, step: Option<StepRef>) {
        self.steps.set(hash(&("flow", flow)), step);
    }

    /// Ends a flow on a track.
    pub(super) fn flow_end(&mut self, flow: u64, track: u32, time: i64) {
        let launch = self.steps.get(hash(&("flow", flow)));
        self.arrived.insert(track, (time, launch));
    }

    /// Returns true if a flow ended on this track at this time.
    pub(super) fn has_arrived(&self, track: u32, time: i64) -> bool {
        self.arrived.get(&track).is_some_and(|(arrived, _)| *arrived == time)
    }

    /// Returns the step in which the flow began that ended on this track at this time; `None` if there is no such flow
    /// or its begin is not known.
    pub(super) fn of_flow(&self, track: u32, time: i64) -> Option<Option<StepRef>> {
        self.arrived.get(&track).filter(|(arrived, _)| *arrived == time)?.1
    }
}
