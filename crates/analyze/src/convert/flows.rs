//! Arrows that have begun, by what joins their points.

use hashbrown::HashMap;

/// How many arrows are remembered at least. One whose begin lies further back, counted in arrows, is forgotten.
const KEPT: usize = 1 << 20;

/// What is known of groups of events, of the latest ones at least.
#[derive(Debug)]
pub struct Remembered<T> {
    /// Those that were set, or asked for, last; when they are too many, they become the earlier ones.
    recent: HashMap<u64, T>,
    earlier: HashMap<u64, T>,
    n_kept: usize,
}

impl<T: Copy> Remembered<T> {
    /// Remembers so many groups at least, and twice as many at most.
    pub fn new(n_kept: usize) -> Self {
        Self { recent: HashMap::new(), earlier: HashMap::new(), n_kept }
    }

    /// Sets what is known of a group.
    pub fn set(&mut self, group: u64, value: T) {
        if self.recent.len() >= self.n_kept {
            self.earlier = std::mem::take(&mut self.recent);
        }
        self.recent.insert(group, value);
    }

    /// What is known of a group.
    pub fn get(&mut self, group: u64) -> Option<T> {
        if let Some(&value) = self.recent.get(&group) {
            return Some(value);
        }
        let value = *self.earlier.get(&group)?;
        self.set(group, value);
        Some(value)
    }
}

/// Arrows that have begun. Each has a number of its own: files use ids again, and trace_processor does not take that.
#[derive(Debug)]
pub struct Flows {
    numbers: Remembered<u64>,
    n: u64,
}

impl Default for Flows {
    fn default() -> Self {
        Self { numbers: Remembered::new(KEPT), n: 0 }
    }
}

impl Flows {
    /// A new arrow, in place of any other of this group.
    pub fn begin(&mut self, group: u64) -> u64 {
        self.n += 1;
        self.numbers.set(group, self.n);
        self.n
    }

    /// The arrow of this group that began last.
    pub fn get(&mut self, group: u64) -> Option<u64> {
        self.numbers.get(group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrow_is_known_until_many_others_have_begun() {
        let mut flows = Flows::default();
        assert_eq!(flows.get(7), None);
        assert_eq!((flows.begin(7), flows.begin(8), flows.begin(7)), (1, 2, 3));
        assert_eq!((flows.get(7), flows.get(8)), (Some(3), Some(2)));
        for group in 100..100 + KEPT as u64 {
            flows.begin(group);
        }
        assert_eq!(flows.get(7), Some(3));
        for group in 0..2 * KEPT as u64 {
            flows.begin(1 << 40 | group);
        }
        assert_eq!(flows.get(7), None);
    }
}
