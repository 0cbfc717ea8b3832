//! Open flows, by the key that joins their points.

use super::hash::hash;
use hashbrown::HashMap;

/// Minimum number of flows that are kept. Older ones may be forgotten.
const KEPT: usize = 1 << 20;

/// Map that keeps at least the latest entries.
#[derive(Debug)]
pub(super) struct Remembered<T> {
    /// Entries that were set or read last; when they are too many, they become the earlier ones.
    recent: HashMap<u64, T>,
    earlier: HashMap<u64, T>,
    n_kept: usize,
}

impl<T: Copy> Remembered<T> {
    /// Keeps at least `n_kept` entries, and at most twice as many.
    pub(super) fn new(n_kept: usize) -> Self {
        Self { recent: HashMap::new(), earlier: HashMap::new(), n_kept }
    }

    /// Sets the value of a group.
    pub(super) fn set(&mut self, group: u64, value: T) {
        if self.recent.len() >= self.n_kept {
            self.earlier = std::mem::take(&mut self.recent);
        }
        self.recent.insert(group, value);
    }

    /// Returns the value of a group.
    pub(super) fn get(&mut self, group: u64) -> Option<T> {
        if let Some(&value) = self.recent.get(&group) {
            return Some(value);
        }
        let value = *self.earlier.get(&group)?;
        self.set(group, value);
        Some(value)
    }
}

/// Maximum number of blocks of 64 ids that are marked as used.
const BLOCKS_KEPT: usize = 1 << 20;
/// Numbers of flows that cannot keep their id. Ids of the file in this range are not kept.
const OWN_NUMBERS: std::ops::Range<u64> = 1 << 61..(1 << 61) + (1 << 60);

/// Open flows. Each has a unique number, since trace_processor does not accept an id twice: the id in the file if no
/// other flow has used it, so that references to that id (torch's `correlation`) stay valid.
#[derive(Debug)]
pub(super) struct Flows {
    numbers: Remembered<u64>,
    used: UsedIds,
    n_own: u64,
}

impl Default for Flows {
    fn default() -> Self {
        Self { numbers: Remembered::new(KEPT), used: UsedIds::default(), n_own: 0 }
    }
}

impl Flows {
    /// Begins a flow of a group, replacing any other of this group, and returns its number. `scope` is the scope in
    /// which its id is unique.
    pub(super) fn begin(&mut self, group: u64, scope: u64, id: Option<u64>) -> u64 {
        let kept = id.filter(|id| !OWN_NUMBERS.contains(id) && self.used.insert(scope, *id));
        let number = kept.unwrap_or_else(|| {
            self.n_own += 1;
            OWN_NUMBERS.start + self.n_own
        });
        self.numbers.set(group, number);
        number
    }

    /// Returns the flow of this group that began last.
    pub(super) fn get(&mut self, group: u64) -> Option<u64> {
        self.numbers.get(group)
    }
}

/// Used ids, as bits of blocks of 64: files number their ids consecutively.
#[derive(Debug, Default)]
struct UsedIds {
    blocks: HashMap<u64, u64>,
}

impl UsedIds {
    /// Marks an id as used. Returns false if it was used before, or if there is no room.
    fn insert(&mut self, scope: u64, id: u64) -> bool {
        let (block, bit) = (hash(&(scope, id / 64)), 1 << (id % 64));
        if self.blocks.len() >= BLOCKS_KEPT && !self.blocks.contains_key(&block) {
            return false;
        }
        let bits = self.blocks.entry(block).or_default();
        let is_new = *bits & bit == 0;
        *bits |= bit;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_kept_until_many_others_have_begun() {
        let mut flows = Flows::default();
        assert_eq!(flows.get(7), None);
        let own = |n| OWN_NUMBERS.start + n;
        assert_eq!([7, 8, 7].map(|group| flows.begin(group, 0, None)), [own(1), own(2), own(3)]);
        assert_eq!((flows.get(7), flows.get(8)), (Some(own(3)), Some(own(2))));
        for group in 100..100 + KEPT as u64 {
            flows.begin(group, 0, None);
        }
        assert_eq!(flows.get(7), Some(own(3)));
        for group in 0..2 * KEPT as u64 {
            flows.begin(1 << 40 | group, 0, None);
        }
        assert_eq!(flows.get(7), None);
    }

    #[test]
    fn a_flow_keeps_its_id_unless_its_scope_has_used_it() {
        let mut flows = Flows::default();
        let own = |n| OWN_NUMBERS.start + n;
        assert_eq!(flows.begin(1, 5, Some(77)), 77);
        assert_eq!(flows.begin(1, 5, Some(77)), own(1));
        assert_eq!((flows.get(1), flows.begin(2, 6, Some(77))), (Some(own(1)), 77));
        assert_eq!(flows.begin(3, 5, Some(own(1))), own(2));
        assert_eq!(flows.begin(4, 5, Some(u64::MAX)), u64::MAX);
    }

    #[test]
    fn ids_are_replaced_when_the_table_is_full() {
        let mut used = UsedIds::default();
        assert!((0..BLOCKS_KEPT as u64).all(|block| used.insert(0, block * 64)));
        assert!(!used.insert(0, 64 * BLOCKS_KEPT as u64));
        assert!(used.insert(0, 1) && !used.insert(0, 1));
    }
}
