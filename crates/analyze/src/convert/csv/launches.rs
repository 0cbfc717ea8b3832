//! Step and layer of the launch of a kernel, while slices and flows arrive in time order.

use super::step_tracker::StepRef;
use crate::convert::flows::Remembered;
use crate::convert::hash::hash;
use hashbrown::HashMap;

/// Minimum number of launches that are kept. Older ones may be forgotten.
const KEPT: usize = 1 << 18;

/// Step and layer of a launch; `None` for a launch outside of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Launch {
    /// The step.
    pub step: Option<StepRef>,
    /// The layer.
    pub layer: Option<u32>,
}

/// Launches that may still have kernels.
#[derive(Debug)]
pub(super) struct Launches {
    /// Launches by the hash of their correlation or their flow.
    launches: Remembered<Launch>,
    /// Time and launch of the latest flow that ended on each track.
    arrived: HashMap<u32, (i64, Option<Launch>)>,
}

impl Default for Launches {
    fn default() -> Self {
        Self { launches: Remembered::new(KEPT), arrived: HashMap::new() }
    }
}

impl Launches {
    /// Adds a call with this correlation.
    pub(super) fn call(&mut self, correlation: &str, launch: Launch) {
        self.launches.set(hash(&("correlation", correlation)), launch);
    }

    /// Returns the call with this correlation; `None` if there was none.
    pub(super) fn of_correlation(&mut self, correlation: &str) -> Option<Launch> {
        self.launches.get(hash(&("correlation", correlation)))
    }

    /// Begins a flow.
    pub(super) fn flow_begin(&mut self, flow: u64, launch: Launch) {
        self.launches.set(hash(&("flow", flow)), launch);
    }

    /// Ends a flow on a track.
    pub(super) fn flow_end(&mut self, flow: u64, track: u32, time: i64) {
        let launch = self.launches.get(hash(&("flow", flow)));
        self.arrived.insert(track, (time, launch));
    }

    /// Returns true if a flow ended on this track at this time.
    pub(super) fn has_arrived(&self, track: u32, time: i64) -> bool {
        self.arrived.get(&track).is_some_and(|(arrived, _)| *arrived == time)
    }

    /// Returns the begin of the flow that ended on this track at this time; `None` if there is no such flow or its
    /// begin is not known.
    pub(super) fn of_flow(&self, track: u32, time: i64) -> Option<Launch> {
        self.arrived.get(&track).filter(|(arrived, _)| *arrived == time)?.1
    }
}
