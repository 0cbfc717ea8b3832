//! Origin of slices: the slice around a host slice, the operation that launched device work, and the layer of both.

use crate::figures::gpu::device_slices;
use crate::figures::layer_search::{NONE as NO_LAYER, layer_of_each};
use crate::kineto::{CORRELATION, OPERATIONS, RUNTIMES};
use crate::structure::nesting::Nesting;
use ferrum_trace_model::{StringId, Trace};
use hashbrown::HashMap;

/// Origin of each slice of a trace.
pub(super) struct Origins {
    /// Name of the slice around each host slice, or of the operation that launched it; empty if there is none.
    pub(super) parent: Vec<StringId>,
    /// Position of each host slice among the children of its parent, from 0.
    pub(super) position: Vec<u32>,
    /// Layer of each slice; [`NO_LAYER`] if unknown.
    pub(super) layer: Vec<u32>,
    /// True for each slice that is device work.
    pub(super) is_device: Vec<bool>,
}

/// A call that launches device work.
#[derive(Clone, Copy)]
struct Launch {
    operation: StringId,
    layer: u32,
}

impl Origins {
    /// Finds the origins of all slices. The argument `correlation` must be loaded for launches.
    pub(super) fn of(trace: &Trace, nesting: &Nesting) -> Self {
        let n_slices = trace.slices.len();
        let mut is_device = vec![false; n_slices];
        let works: Vec<usize> = device_slices(trace).into_iter().map(|found| found.slice).collect();
        works.iter().for_each(|&slice| is_device[slice] = true);
        let mut origins = Self {
            parent: vec![StringId::EMPTY; n_slices],
            position: vec![0; n_slices],
            layer: layer_of_each(trace, nesting),
            is_device,
        };
        let launches = origins.walk(trace, nesting, !works.is_empty());
        origins.apply_launches(trace, &works, &launches);
        origins
    }

    /// Finds parents and positions of host slices, and the launches by correlation.
    fn walk(&mut self, trace: &Trace, nesting: &Nesting, wants_launches: bool) -> HashMap<StringId, Launch> {
        let [operation_a, operation_b] = OPERATIONS.map(|category| trace.strings.find(category));
        let runtimes = RUNTIMES.map(|category| trace.strings.find(category));
        let correlation = trace.args.iter().find(|column| column.key == CORRELATION).filter(|_| wants_launches);
        let category = |slice: u32| Some(trace.slices.category[slice as usize]);
        let mut launches = HashMap::new();
        let mut n_children: Vec<u32> = Vec::new();
        for (track, _) in trace.tracks.iter() {
            n_children.clear();
            nesting.walk(trace, track, |slice, around| {
                let depth = around.len();
                n_children.resize(depth + 1, 0);
                self.position[slice as usize] = n_children[depth];
                n_children[depth] += 1;
                if let Some(&parent) = around.last() {
                    self.parent[slice as usize] = trace.slices.name[parent as usize];
                }
                if let Some(correlation) = correlation
                    && runtimes.contains(&category(slice))
                    && let Some(id) = correlation.of(trace.slices.order[slice as usize])
                {
                    let is_operation = |slice: &&u32| [operation_a, operation_b].contains(&category(**slice));
                    let operation = around.iter().rev().find(is_operation);
                    let operation = operation.map_or(StringId::EMPTY, |&slice| trace.slices.name[slice as usize]);
                    launches.insert(id, Launch { operation, layer: self.layer[slice as usize] });
                }
            });
        }
        launches
    }

    fn apply_launches(&mut self, trace: &Trace, works: &[usize], launches: &HashMap<StringId, Launch>) {
        let Some(correlation) = trace.args.iter().find(|column| column.key == CORRELATION) else { return };
        for &slice in works {
            let id = correlation.of(trace.slices.order[slice]);
            let Some(launch) = id.and_then(|id| launches.get(&id)) else { continue };
            self.parent[slice] = launch.operation;
            if self.layer[slice] == NO_LAYER {
                self.layer[slice] = launch.layer;
            }
        }
    }
}
