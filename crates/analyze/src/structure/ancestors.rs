//! Finds slices around other slices in logarithmic time, independent of the nesting depth.

/// Marks the absence of a slice.
pub(crate) const NONE: u32 = u32::MAX;

/// Parent of each slice, with a shortcut to a slice further out.
///
/// Shortcuts form a skew-binary list: a slice `n` levels out is reached in about `2 * log2(n)` steps.
#[derive(Clone, Debug)]
pub(crate) struct Ancestors {
    parents: Vec<u32>,
    shortcuts: Vec<u32>,
    depths: Vec<u32>,
}

impl Ancestors {
    /// Creates `n_slices` slices without parents.
    pub(crate) fn new(n_slices: usize) -> Self {
        Self { parents: vec![NONE; n_slices], shortcuts: vec![NONE; n_slices], depths: vec![1; n_slices] }
    }

    /// Sets the parent of a slice, [`NONE`] for no parent. The parent of `parent` must be set before.
    pub(crate) fn set_parent(&mut self, slice: u32, parent: u32) {
        let shortcut = self.shortcut(parent);
        let further = self.shortcut(shortcut);
        let is_even = self.depth(parent) - self.depth(shortcut) == self.depth(shortcut) - self.depth(further);
        let slice = slice as usize;
        self.depths[slice] = self.depth(parent) + 1;
        self.shortcuts[slice] = if is_even { further } else { parent };
        self.parents[slice] = parent;
    }

    /// Returns the parent of each slice; [`NONE`] if it has none.
    pub(crate) fn parents(&self) -> &[u32] {
        &self.parents
    }

    /// Returns the innermost slice for which `is_wanted` holds, starting with the slice itself. All slices around a
    /// wanted slice must be wanted too.
    pub(crate) fn innermost(&self, mut slice: u32, is_wanted: impl Fn(u32) -> bool) -> Option<u32> {
        while slice != NONE && !is_wanted(slice) {
            let shortcut = self.shortcut(slice);
            let is_before = shortcut != NONE && !is_wanted(shortcut);
            slice = if is_before { shortcut } else { self.parents[slice as usize] };
        }
        (slice != NONE).then_some(slice)
    }

    fn depth(&self, slice: u32) -> u32 {
        if slice == NONE { 0 } else { self.depths[slice as usize] }
    }

    fn shortcut(&self, slice: u32) -> u32 {
        if slice == NONE { NONE } else { self.shortcuts[slice as usize] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn the_innermost_wanted_slice_is_found_in_few_steps() {
        let n = 1 << 16;
        let mut ancestors = Ancestors::new(n as usize + 1);
        for slice in 0..n {
            ancestors.set_parent(slice, slice.checked_sub(1).unwrap_or(NONE));
        }
        for wanted in [0, 1, 5, 1000, n / 2, n - 2, n - 1] {
            let n_steps = Cell::new(0);
            let is_wanted = |slice| {
                n_steps.set(n_steps.get() + 1);
                slice <= wanted
            };
            assert_eq!(ancestors.innermost(n - 1, is_wanted), Some(wanted));
            assert!(n_steps.get() < 200, "{} steps", n_steps.get());
        }
        assert_eq!(ancestors.innermost(n - 1, |_| false), None);
        assert_eq!(ancestors.innermost(NONE, |_| true), None);
        assert_eq!(ancestors.parents()[n as usize], NONE);
    }
}
