//! Operations around each slice.

use super::operations::{Operations, Outcome};
use crate::structure::nesting::Nesting;
use ferrum_trace_model::Trace;

pub(super) use crate::structure::ancestors::NONE;

/// Largest number of modelled operations around a launch that get its time, besides the outermost.
const LEVELS_MAX: usize = 16;

/// Operations around each slice; [`NONE`] if there is none.
#[derive(Debug)]
pub(super) struct Surroundings {
    /// The slice around each slice.
    pub(super) parent: Vec<u32>,
    /// The innermost operation: the slice itself or one around it.
    pub(super) operation: Vec<u32>,
    /// The innermost modelled operation: the slice itself or one around it.
    pub(super) modelled: Vec<u32>,
    /// The outermost modelled operation: the slice itself or one around it.
    pub(super) outermost: Vec<u32>,
}

impl Surroundings {
    /// Finds the operations around each slice of a trace.
    pub(super) fn of(trace: &Trace, nesting: &Nesting, operations: &Operations) -> Self {
        let none = || vec![NONE; trace.slices.len()];
        let mut found = Self { parent: none(), operation: none(), modelled: none(), outermost: none() };
        for (track, _) in trace.tracks.iter() {
            nesting.walk(trace, track, |slice, around| found.add(slice, around.last().copied(), operations));
        }
        found
    }

    fn add(&mut self, slice: u32, parent: Option<u32>, operations: &Operations) {
        let place = slice as usize;
        let of_parent = |list: &[u32]| parent.map_or(NONE, |parent| list[parent as usize]);
        let outcome = operations.of_slice[place];
        let is_operation = outcome != Outcome::NoOperation;
        let is_modelled = matches!(outcome, Outcome::Modelled(_));
        self.parent[place] = parent.unwrap_or(NONE);
        self.operation[place] = if is_operation { slice } else { of_parent(&self.operation) };
        self.modelled[place] = if is_modelled { slice } else { of_parent(&self.modelled) };
        let outermost = of_parent(&self.outermost);
        self.outermost[place] = if is_modelled && outermost == NONE { slice } else { outermost };
    }

    /// Returns the modelled operations around a slice, itself included, innermost first.
    pub(super) fn modelled_around(&self, slice: u32) -> impl Iterator<Item = u32> {
        let next_out = |&slice: &u32| Some(self.modelled_outside(slice)).filter(|&outer| outer != NONE);
        let first = Some(self.modelled[slice as usize]).filter(|&inner| inner != NONE);
        let outermost = Some(self.outermost[slice as usize]).filter(|&outer| outer != NONE);
        let inner = std::iter::successors(first, next_out).take(LEVELS_MAX).filter(move |&it| Some(it) != outermost);
        inner.chain(outermost)
    }

    /// Returns the innermost modelled operation around a slice.
    fn modelled_outside(&self, slice: u32) -> u32 {
        match self.parent[slice as usize] {
            NONE => NONE,
            parent => self.modelled[parent as usize],
        }
    }
}
