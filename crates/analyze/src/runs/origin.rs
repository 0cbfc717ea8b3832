//! Origin of slices: the slice around a host slice, the operation that launched device work, and the layer of both.

use crate::figures::layer_search::{NONE, layers_if_any};
use crate::kineto::OPERATIONS;
use crate::launches::device_work::is_work;
use crate::launches::launchers::{Launchers, WorkIds};
use crate::structure::both::both;
use crate::structure::nesting::Nesting;
use ferrum_trace_model::{StringId, Trace};
use std::collections::BTreeSet;

/// Origin of each slice of a trace.
pub(super) struct Origins {
    /// Name of the slice around each host slice, or of the operation that launched it; empty if there is none.
    pub(super) parent: Vec<StringId>,
    /// Position of each host slice among the children of its parent, from 0.
    pub(super) position: Vec<u32>,
    /// Layer of each slice, `NONE` if unknown; `None` if no slice has one.
    layers: Option<Vec<u32>>,
    /// True for each slice that is device work.
    pub(super) is_device: Vec<bool>,
}

/// The surroundings of each slice on its track.
struct Surroundings {
    /// Name of the slice around it.
    parent: Vec<StringId>,
    /// Position among the children of that slice.
    position: Vec<u32>,
    /// Name of the innermost operation that it is or lies in.
    operation: Vec<StringId>,
}

impl Origins {
    /// Finds the origins of all slices. The arguments [`LAUNCH_ARGS`] must be loaded for launches.
    ///
    /// [`LAUNCH_ARGS`]: crate::launches::launchers::LAUNCH_ARGS
    pub(super) fn of(trace: &Trace, nesting: &Nesting) -> Self {
        let is_device = is_work(trace);
        let find_launches = || (layers_if_any(trace, nesting), Launchers::of(trace, &is_device));
        let (surroundings, (layers, launchers)) = both(|| Surroundings::of(trace, nesting), find_launches);
        let Surroundings { parent, position, operation } = surroundings;
        let mut origins = Self { parent, position, layers, is_device };
        origins.apply_launches(trace, &launchers, &operation);
        origins
    }

    /// Returns the layer of a slice; `NONE` if unknown.
    pub(super) fn layer(&self, slice: usize) -> u32 {
        self.layers.as_ref().map_or(NONE, |layers| layers[slice])
    }

    /// Returns the different layers.
    pub(super) fn different_layers(&self) -> BTreeSet<u32> {
        self.layers.iter().flatten().copied().filter(|&layer| layer != NONE).collect()
    }

    /// Replaces the parents of device work by the operations that launched it.
    fn apply_launches(&mut self, trace: &Trace, launchers: &Launchers, operation: &[StringId]) {
        let mut ids = WorkIds::of(trace);
        for (slice, _) in self.is_device.iter().enumerate().filter(|(_, is_device)| **is_device) {
            if let Some(launcher) = ids.launcher(launchers, trace.slices.order[slice]).slice() {
                self.parent[slice] = operation[launcher as usize];
            }
        }
    }
}

impl Surroundings {
    fn of(trace: &Trace, nesting: &Nesting) -> Self {
        let (n_slices, name) = (trace.slices.len(), |slice: u32| trace.slices.name[slice as usize]);
        let mut found = Self {
            parent: vec![StringId::EMPTY; n_slices],
            position: vec![0; n_slices],
            operation: vec![StringId::EMPTY; n_slices],
        };
        let categories = OPERATIONS.map(|category| trace.strings.find(category));
        let is_operation = |slice: u32| categories.contains(&Some(trace.slices.category[slice as usize]));
        let mut n_children: Vec<u32> = Vec::new();
        for (track, _) in trace.tracks.iter() {
            n_children.clear();
            nesting.walk(trace, track, |slice, around| {
                let depth = around.len();
                n_children.resize(depth + 1, 0);
                found.position[slice as usize] = n_children[depth];
                n_children[depth] += 1;
                if let Some(&parent) = around.last() {
                    found.parent[slice as usize] = name(parent);
                    found.operation[slice as usize] = found.operation[parent as usize];
                }
                if is_operation(slice) {
                    found.operation[slice as usize] = name(slice);
                }
            });
        }
        found
    }
}
