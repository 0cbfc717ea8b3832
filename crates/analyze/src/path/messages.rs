//! Messages between threads: flows and hand-overs of async operations.

use super::works::Launch;
use crate::kineto::LAUNCH_FLOW;
use crate::structure::flow_key::flow_key;
use ferrum_trace_model::{End, Trace, TrackId};
use hashbrown::HashMap;

/// A dependency of one thread on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// Thread that sends it.
    pub(crate) from: TrackId,
    /// Time at which it is sent.
    pub(crate) sent: i64,
    /// Thread that receives it.
    pub(crate) to: TrackId,
    /// Time at which the receiver has recorded it.
    pub(crate) received: i64,
}

/// Flows that end where device work starts.
#[derive(Debug, Default)]
pub(crate) struct FlowLaunches {
    begins: HashMap<(TrackId, i64), (TrackId, i64)>,
}

impl FlowLaunches {
    /// Returns the begin of the flow that ends where work starts.
    pub(super) fn of_work(&self, track: TrackId, start: i64) -> Option<Launch> {
        let &(from, time) = self.begins.get(&(track, start))?;
        (time <= start).then_some(Launch::Flow(from, time))
    }
}

/// Returns the messages that flows describe: each point of a flow depends on the point before it.
pub(crate) fn flow_messages(trace: &Trace) -> Vec<Message> {
    let flows = &trace.flows;
    let launches = trace.strings.find(LAUNCH_FLOW);
    let mut points: Vec<usize> =
        (0..flows.time.len()).filter(|&point| Some(flows.category[point]) != launches).collect();
    points.sort_unstable_by_key(|&point| (flow_key(flows, point), flows.time[point], point));
    let mut messages = Vec::new();
    for pair in points.windows(2) {
        let &[before, point] = pair else { continue };
        if flow_key(flows, before) == flow_key(flows, point) && flows.end[point] != End::Begin {
            messages
                .extend(message((flows.track[before], flows.time[before]), (flows.track[point], flows.time[point])));
        }
    }
    messages
}

/// Returns the flows from launches to device work.
pub(crate) fn flow_launches(messages: &[Message]) -> FlowLaunches {
    let begins = messages.iter().map(|it| ((it.to, it.received), (it.from, it.sent)));
    FlowLaunches { begins: begins.collect() }
}

/// Returns the messages that async operations describe: consecutive events of one operation on different threads.
pub(crate) fn async_messages(trace: &Trace) -> Vec<Message> {
    let asyncs = &trace.asyncs;
    let is_on_one_track = asyncs.track.windows(2).all(|pair| pair[0] == pair[1]);
    if is_on_one_track {
        return Vec::new();
    }
    let key = |event: usize| (asyncs.category[event], asyncs.id[event]);
    let mut events: Vec<usize> = (0..asyncs.time.len()).collect();
    events.sort_unstable_by_key(|&event| (key(event), asyncs.time[event], event));
    let mut messages = Vec::new();
    for pair in events.windows(2) {
        let &[before, event] = pair else { continue };
        if key(before) == key(event) {
            messages.extend(message(
                (asyncs.track[before], asyncs.time[before]),
                (asyncs.track[event], asyncs.time[event]),
            ));
        }
    }
    messages
}

fn message((from, sent): (TrackId, i64), (to, received): (TrackId, i64)) -> Option<Message> {
    (from != to && sent <= received).then_some(Message { from, sent, to, received })
}
