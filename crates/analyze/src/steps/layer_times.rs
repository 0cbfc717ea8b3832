//! Time of steps by layer.

use super::device::Work;
use super::find::MarkedSlice;
use super::host::inside;
use crate::figures::layer_search::{LayerSource, NONE, find_layers};
use crate::structure::nesting::Nesting;
use ferrum_trace_model::Trace;
use std::collections::BTreeMap;

/// Time of steps in one layer. Times are nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayerTime {
    /// The layer; `None` for slices that belong to none.
    pub layer: Option<u32>,
    /// Number of slices on the tracks of steps.
    pub count: u64,
    /// Sum of their self times.
    pub total: i64,
    /// Number of kernels and copies.
    pub n_on_device: u64,
    /// Sum of their durations.
    pub device_total: i64,
}

/// Returns the time of steps by layer, ascending; slices in no layer are the last. The sums are those of the times by
/// operation.
pub(super) fn of_steps(trace: &Trace, nesting: &Nesting, steps: &[MarkedSlice], works: &[Work]) -> Vec<LayerTime> {
    let (_, layer_of) = find_layers(trace, nesting, LayerSource::Auto);
    // [`NONE`] is the largest number.
    let mut times: BTreeMap<u32, LayerTime> = BTreeMap::new();
    for slice in steps.iter().flat_map(|step| inside(trace, nesting, step)).map(|&slice| slice as usize) {
        let time = times.entry(layer_of[slice]).or_default();
        time.count += 1;
        time.total = time.total.saturating_add(nesting.self_time[slice]);
    }
    for slice in works.iter().map(|work| work.slice as usize) {
        let time = times.entry(layer_of[slice]).or_default();
        time.n_on_device += 1;
        time.device_total = time.device_total.saturating_add(trace.slices.duration[slice]);
    }
    let labeled = |(layer, time)| LayerTime { layer: (layer != NONE).then_some(layer), ..time };
    times.into_iter().map(labeled).collect()
}
