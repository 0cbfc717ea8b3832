//! The numbers that arrows have now.

use hashbrown::HashMap;

/// How many arrows are remembered at least. One whose begin lies further back, counted in arrows, is forgotten.
const KEPT: usize = 1 << 20;

/// Arrows that have begun. Each has a number of its own: files use ids again, and trace_processor does not take that.
#[derive(Debug, Default)]
pub struct Flows {
    /// Those that began, or were asked for, last; when they are too many, they become the earlier ones.
    recent: HashMap<u64, u64>,
    earlier: HashMap<u64, u64>,
    n: u64,
}

impl Flows {
    /// A new arrow, in place of any other of this group.
    pub fn begin(&mut self, group: u64) -> u64 {
        self.n += 1;
        self.remember(group, self.n);
        self.n
    }

    /// The arrow of this group that began last.
    pub fn get(&mut self, group: u64) -> Option<u64> {
        if let Some(&flow) = self.recent.get(&group) {
            return Some(flow);
        }
        let flow = *self.earlier.get(&group)?;
        self.remember(group, flow);
        Some(flow)
    }

    fn remember(&mut self, group: u64, flow: u64) {
        if self.recent.len() >= KEPT {
            self.earlier = std::mem::take(&mut self.recent);
        }
        self.recent.insert(group, flow);
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
