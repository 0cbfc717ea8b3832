//! Finds the begin of flows that end on a slice.
//!
//! A flow counts if it ends exactly where the slice starts, as recorders of device work write it.
//! `convert/layerwise/launches.rs` binds flows to the innermost slice at their end instead, and resolves ids that are
//! used again; only the key of a flow is shared.

use crate::kineto::LAUNCH_FLOW;
use crate::structure::flow_key::{FlowKey, flow_key};
use ferrum_trace_model::{End, StringId, Trace, TrackId};
use hashbrown::{HashMap, HashSet};

/// Category and name of a flow.
pub(crate) type FlowKind = (StringId, StringId);

/// Maps the end of a flow to its begin.
#[derive(Debug)]
pub(crate) struct FlowOrigins {
    begins: HashMap<FlowKey, (TrackId, i64)>,
    ends: HashMap<(TrackId, i64), FlowKey>,
    /// The category of flows that torch.profiler may leave without an end.
    one_sided: Option<StringId>,
}

impl FlowOrigins {
    /// Indexes all flows of a trace.
    pub(crate) fn of(trace: &Trace) -> Self {
        let flows = &trace.flows;
        let mut origins =
            Self { begins: HashMap::new(), ends: HashMap::new(), one_sided: trace.strings.find(LAUNCH_FLOW) };
        for (event, &end) in flows.end.iter().enumerate() {
            let key = flow_key(flows, event);
            let place = (flows.track[event], flows.time[event]);
            match end {
                End::Begin => _ = origins.begins.insert(key, place),
                End::Finish => _ = origins.ends.insert(place, key),
                End::Step => {}
            }
        }
        origins
    }

    /// Returns the begin and the kind of the flow that ends where a slice starts.
    pub(crate) fn of_slice(&self, track: TrackId, start: i64) -> Option<(FlowKind, TrackId, i64)> {
        let key = self.ends.get(&(track, start))?;
        let &(track, time) = self.begins.get(key)?;
        Some(((key.0, key.1), track, time))
    }

    /// Returns the begins of flows of these kinds that have no end.
    pub(crate) fn unended(&self, kinds: &HashSet<FlowKind>) -> Vec<(TrackId, i64)> {
        let ended: HashSet<&FlowKey> = self.ends.values().collect();
        let is_unended =
            |key: &FlowKey| kinds.contains(&(key.0, key.1)) && Some(key.0) != self.one_sided && !ended.contains(key);
        self.begins.iter().filter(|(key, _)| is_unended(key)).map(|(_, &place)| place).collect()
    }
}
