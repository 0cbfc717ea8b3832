//! Kinds of the slices of threads.

use super::calls::SpanWait;
use super::node::NodeKind;
use super::segments::SliceKinds;
use super::syncs::{Sync, SyncWait};
use super::works::{N_MARKERS, Works, marker_categories};
use crate::kineto::RUNTIMES;
use ferrum_trace_model::{StringId, Trace};
use hashbrown::HashMap;

/// Kinds of the slices of threads.
pub(super) struct Kinds<'a> {
    trace: &'a Trace,
    works: &'a Works,
    markers: [Option<StringId>; N_MARKERS],
    /// Kind of calls that waited for something that is not known.
    calls: HashMap<u32, NodeKind>,
    /// Kind of spans by name.
    names: Vec<NodeKind>,
    runtimes: [Option<StringId>; RUNTIMES.len()],
    lock_category: Option<StringId>,
}

impl<'a> Kinds<'a> {
    pub(super) fn of(trace: &'a Trace, works: &'a Works, syncs: &[Sync]) -> Self {
        let calls = syncs.iter().filter_map(|sync| match sync.wait {
            SyncWait::For { .. } => None,
            SyncWait::Unknown => Some((sync.call, NodeKind::Uncaused)),
            SyncWait::OutsideFile => Some((sync.call, NodeKind::OutsideFile)),
        });
        let kind = |text: &str| match SpanWait::of_span(text) {
            Some(SpanWait::Lock) => NodeKind::Lock,
            Some(SpanWait::Other) => NodeKind::Uncaused,
            None => NodeKind::Host,
        };
        let mut names = vec![NodeKind::Host; trace.strings.len()];
        let mut is_known = vec![false; trace.strings.len()];
        for &name in &trace.slices.name {
            if !std::mem::replace(&mut is_known[name.index()], true) {
                names[name.index()] = kind(trace.strings.get(name));
            }
        }
        Self {
            trace,
            works,
            markers: marker_categories(trace),
            calls: calls.collect(),
            names,
            runtimes: RUNTIMES.map(|category| trace.strings.find(category)),
            lock_category: trace.strings.find("lock"),
        }
    }
}

impl SliceKinds for Kinds<'_> {
    fn is_work(&self, slice: u32) -> bool {
        let category = self.trace.slices.category[slice as usize];
        self.works.is_host(self.trace, slice as usize) && !self.markers.contains(&Some(category))
    }

    fn kind(&self, slice: u32) -> NodeKind {
        let (name, category) = (self.trace.slices.name[slice as usize], self.trace.slices.category[slice as usize]);
        if self.runtimes.contains(&Some(category)) {
            return self.calls.get(&slice).copied().unwrap_or(NodeKind::Host);
        }
        if Some(category) == self.lock_category {
            return NodeKind::Lock;
        }
        self.names.get(name.index()).copied().unwrap_or(NodeKind::Host)
    }
}
