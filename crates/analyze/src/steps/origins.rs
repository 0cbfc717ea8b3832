//! Where flows that end on a slice began.

use ferrum_trace_model::{End, StringId, Trace, TrackId};
use hashbrown::HashMap;

/// What joins the ends of a flow: category, name and id.
type FlowKey = (StringId, StringId, StringId);

/// Finds where a flow began by where it ends.
#[derive(Debug)]
pub struct FlowOrigins {
    begins: HashMap<FlowKey, (TrackId, i64)>,
    ends: HashMap<(TrackId, i64), FlowKey>,
}

impl FlowOrigins {
    /// Of all flows of a trace.
    pub fn of(trace: &Trace) -> Self {
        let flows = &trace.flows;
        let mut origins = Self { begins: HashMap::new(), ends: HashMap::new() };
        for (event, &end) in flows.end.iter().enumerate() {
            let key = (flows.category[event], flows.name[event], flows.id[event]);
            let place = (flows.track[event], flows.time[event]);
            match end {
                End::Begin => _ = origins.begins.insert(key, place),
                End::Finish => _ = origins.ends.insert(place, key),
                End::Step => {}
            }
        }
        origins
    }

    /// Where the flow began that ends where a slice starts.
    pub fn of_slice(&self, track: TrackId, start: i64) -> Option<(TrackId, i64)> {
        self.begins.get(self.ends.get(&(track, start))?).copied()
    }
}
