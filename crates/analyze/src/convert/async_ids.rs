//! Ids of async operations in Perfetto: numbers that are unique within a process.

use super::hash::hash;
use super::ordered_lanes::LaneId;
use ferrum_trace_model::ProcessId;
use hashbrown::{HashMap, HashSet};

/// First number for ids that are not numbers.
const FIRST_GIVEN: u64 = 1 << 62;

/// Numbers of open operations. All operations in one lane share a number; two lanes never have the same number at the
/// same time.
#[derive(Debug, Default)]
pub(super) struct AsyncIds {
    of_lanes: HashMap<LaneId, Used>,
    used: HashSet<Used>,
    n_given: u64,
}

/// A number in use: process, hash of the category, number.
type Used = (u32, u64, u64);

impl AsyncIds {
    /// Returns the number of a lane. A lane without one gets the number of the id, if that is not in use.
    pub(super) fn take(&mut self, lane: LaneId, process: ProcessId, category: &str, id: &str) -> u64 {
        if let Some(&(.., number)) = self.of_lanes.get(&lane) {
            return number;
        }
        let used = |number: u64| (process.0, hash(&category), number);
        let mut wanted = number(id).map(used);
        let taken = loop {
            match wanted {
                Some(wanted) if self.used.insert(wanted) => break wanted,
                _ => {
                    wanted = Some(used(FIRST_GIVEN + self.n_given));
                    self.n_given += 1;
                }
            }
        };
        self.of_lanes.insert(lane, taken);
        taken.2
    }

    /// Returns the number of a lane that has one.
    pub(super) fn get(&self, lane: LaneId) -> Option<u64> {
        self.of_lanes.get(&lane).map(|&(.., number)| number)
    }

    /// Releases the number of a lane.
    pub(super) fn release(&mut self, lane: LaneId) {
        if let Some(used) = self.of_lanes.remove(&lane) {
            self.used.remove(&used);
        }
    }
}

/// Parses a decimal or hexadecimal number.
pub(super) fn number(id: &str) -> Option<u64> {
    let is_plain = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    match id.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok().filter(|_| is_plain(digits)),
        None => id.parse().ok().filter(|_| is_plain(id)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numeric_ids_are_kept_and_others_get_a_number() {
        let mut ids = AsyncIds::default();
        let process = ProcessId(0);
        assert_eq!(ids.take(0, process, "c", "0x1f"), 31);
        assert_eq!(ids.take(0, process, "c", "0x1f"), 31);
        assert_eq!(ids.take(1, process, "c", "31"), FIRST_GIVEN);
        assert_eq!(ids.take(2, process, "d", "31"), 31);
        assert_eq!(ids.take(3, ProcessId(1), "c", "31"), 31);
        assert_eq!(ids.take(4, process, "c", "request 7"), FIRST_GIVEN + 1);
        ids.release(0);
        assert_eq!((ids.get(0), ids.take(5, process, "c", "31")), (None, 31));
    }

    #[test]
    fn numbers_consist_of_digits_only() {
        let cases =
            [("7", Some(7)), ("0xA", Some(10)), ("", None), ("+7", None), ("0x", None), ("0x+7", None), ("a", None)];
        for (id, expected) in cases {
            assert_eq!(number(id), expected, "{id}");
        }
        assert_eq!(number("18446744073709551616"), None);
    }
}
