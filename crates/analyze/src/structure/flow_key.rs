//! Key that joins the events of a flow.

use ferrum_trace_model::{Flows, StringId};

/// Category, name and id of a flow. Events with the same key belong to the same flow.
pub(crate) type FlowKey = (StringId, StringId, StringId);

/// Returns the key of the event with index `event`.
pub(crate) fn flow_key(flows: &Flows, event: usize) -> FlowKey {
    (flows.category[event], flows.name[event], flows.id[event])
}
