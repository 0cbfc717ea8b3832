//! Device work that belongs to no layer.

use super::layer_search::NONE;
use crate::launches::device_work::works_of;
use crate::launches::launching_slices::launching_slices;
use crate::structure::nesting::Nesting;
use crate::structure::select::Selected;
use ferrum_trace_model::Trace;

/// Part of the names of calls that launch a graph.
const GRAPH_LAUNCH: &str = "GraphLaunch";

/// Number and time of kernels and copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkSum {
    /// Number of kernels and copies.
    pub count: u64,
    /// Sum of their durations, in nanoseconds.
    pub total: i64,
}

impl WorkSum {
    fn add(&mut self, count: u64, total: i64) {
        self.count += count;
        self.total = self.total.saturating_add(total);
    }
}

/// Device work that belongs to no layer, by the reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnlayeredWork {
    /// Work of a graph whose launch is in no layer.
    pub by_graph: WorkSum,
    /// Work that another slice in no layer launched.
    pub outside_layers: WorkSum,
    /// Work whose launch is not known, or not in the file.
    pub unknown_launch: WorkSum,
}

impl UnlayeredWork {
    /// Returns the sum of all reasons.
    pub fn all(&self) -> WorkSum {
        let mut sum = WorkSum::default();
        for part in [self.by_graph, self.outside_layers, self.unknown_launch] {
            sum.add(part.count, part.total);
        }
        sum
    }

    /// Sums the selected device work that has no layer.
    pub(super) fn of(trace: &Trace, nesting: &Nesting, selected: &Selected, layer_of: &[u32]) -> Self {
        let on_device = works_of(trace);
        let is_unlayered = |slice: &usize| on_device[*slice].is_some() && layer_of[*slice] == NONE;
        let unlayered: Vec<usize> = selected.iter().filter(is_unlayered).collect();
        let mut sums = Self::default();
        if unlayered.is_empty() {
            return sums;
        }
        let launching = launching_slices(trace, nesting, &on_device);
        let is_graph = |name: &str| name.contains(GRAPH_LAUNCH);
        for slice in unlayered {
            let name = trace.slices.name.get(launching[slice] as usize).map(|&name| trace.strings.get(name));
            let sum = match name {
                Some(name) if is_graph(name) => &mut sums.by_graph,
                Some(_) => &mut sums.outside_layers,
                None => &mut sums.unknown_launch,
            };
            sum.add(1, trace.slices.duration[slice]);
        }
        sums
    }
}
