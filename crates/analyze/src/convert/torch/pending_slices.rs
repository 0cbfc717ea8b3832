//! Slices of a stream wait until it is known whether others lie in them, and what launched them.

use std::mem::take;

/// How many bytes of slices wait in a row, as long as one around them is open.
const HELD_BYTES_MAX: usize = 1 << 20;

/// What launched something: where and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Launch {
    /// The track it was launched from.
    pub track: u32,
    /// When.
    pub time: i64,
}

/// A slice that waits.
#[derive(Debug)]
pub(super) struct HeldSlice {
    pub start: i64,
    pub end: i64,
    pub name: String,
    pub category: String,
    /// Its event as the trace has it.
    pub json: Vec<u8>,
    /// The arguments of the event that ended it.
    pub end_args: Vec<u8>,
    /// What launched it, or else what launched the one around it.
    pub launch: Option<Launch>,
    /// True if others lie in it.
    pub is_group: bool,
}

/// The slices of a row that wait.
#[derive(Debug, Default)]
pub(super) struct HeldRow {
    slices: Vec<HeldSlice>,
    /// Places of those that are open, the outermost first; `None` is one that does not wait.
    open: Vec<Option<usize>>,
    n_bytes: usize,
}

impl HeldRow {
    /// A slice begins.
    pub(super) fn begin(&mut self, slice: HeldSlice) {
        if slice.end > slice.start
            && let Some(outer) = self.innermost()
        {
            outer.is_group = true;
        }
        self.n_bytes += slice.json.len() + slice.end_args.len();
        self.open.push(Some(self.slices.len()));
        self.slices.push(slice);
    }

    /// A slice begins that is written already.
    pub(super) fn begin_unheld(&mut self) {
        self.open.push(None);
    }

    /// An arrow arrives: the innermost slice was launched, and those around it that begin just there. False if none is open.
    pub(super) fn launched(&mut self, launch: Launch, time: i64) -> bool {
        let mut is_innermost = true;
        for &place in self.open.iter().rev().flatten() {
            let slice = &mut self.slices[place];
            if is_innermost || (slice.start == time && slice.launch.is_none()) {
                slice.launch = Some(launch);
            }
            is_innermost = false;
        }
        !is_innermost
    }

    /// The innermost slice that is open.
    fn innermost(&mut self) -> Option<&mut HeldSlice> {
        let place = self.open.iter().rev().find_map(|place| *place)?;
        self.slices.get_mut(place)
    }

    /// The innermost slice ends. Returns those that need not wait any longer, in the order of their begins.
    pub(super) fn end(&mut self) -> Vec<HeldSlice> {
        if let Some(place) = self.open.pop().flatten() {
            let around = self.open.iter().rev().flatten();
            let inherited = around.filter_map(|&outer| self.slices[outer].launch).next();
            let slice = &mut self.slices[place];
            slice.launch = slice.launch.or(inherited);
        }
        let places: Vec<usize> = self.open.iter().copied().flatten().collect();
        if places.is_empty() {
            self.n_bytes = 0;
            return take(&mut self.slices);
        }
        if self.n_bytes <= HELD_BYTES_MAX {
            return Vec::new();
        }
        self.let_go_all_but(&places)
    }

    fn let_go_all_but(&mut self, places: &[usize]) -> Vec<HeldSlice> {
        let (mut done, mut open) = (Vec::new(), Vec::new());
        for (place, slice) in take(&mut self.slices).into_iter().enumerate() {
            if places.contains(&place) { open.push(slice) } else { done.push(slice) }
        }
        self.n_bytes = open.iter().map(|slice| slice.json.len() + slice.end_args.len()).sum();
        self.slices = open;
        let mut now_at = 0..;
        for place in self.open.iter_mut().flatten() {
            *place = now_at.next().unwrap_or_default();
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(name: &str, start: i64, end: i64) -> HeldSlice {
        let (category, json, end_args) = (String::new(), vec![b' '; 9], Vec::new());
        HeldSlice { start, end, name: name.to_owned(), category, json, end_args, launch: None, is_group: false }
    }

    fn names(slices: &[HeldSlice]) -> Vec<String> {
        let spell = |slice: &HeldSlice| {
            let launch = slice.launch.map_or(String::new(), |launch| format!("@{}", launch.time));
            format!("{}{}{launch}", slice.name, if slice.is_group { "*" } else { "" })
        };
        slices.iter().map(spell).collect()
    }

    #[test]
    fn what_lies_in_a_slice_makes_it_a_group_and_inherits_its_launch() {
        let mut row = HeldRow::default();
        row.begin(slice("group", 0, 10));
        row.begin(slice("a", 0, 4));
        assert!(row.launched(Launch { track: 0, time: -1 }, 0));
        assert!(row.end().is_empty());
        row.begin(slice("b", 4, 9));
        assert!(row.launched(Launch { track: 0, time: 2 }, 4));
        row.begin(slice("mark", 5, 5));
        assert!(row.end().is_empty() && row.end().is_empty());
        assert_eq!(names(&row.end()), ["group*@-1", "a@-1", "b@2", "mark@2"]);
        assert!(!row.launched(Launch { track: 0, time: 2 }, 10));
        row.begin_unheld();
        row.begin(slice("c", 11, 12));
        assert_eq!(names(&row.end()), ["c"]);
    }

    #[test]
    fn not_everything_waits_for_a_slice_that_is_open_for_long() {
        let mut row = HeldRow::default();
        row.begin(slice("around", 0, i64::MAX));
        let mut n_done = 0;
        for n in 1..300_000 {
            row.begin(slice("inside", n, n + 1));
            n_done += row.end().len();
            assert!(row.slices.len() < HELD_BYTES_MAX);
        }
        assert!(n_done > 0);
        n_done += row.end().len();
        assert_eq!(n_done, 300_000);
    }
}
