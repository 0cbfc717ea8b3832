//! Slices of a stream that wait until their inner slices and their launch are known.

use std::mem::take;

/// Maximum number of bytes of slices that wait on a track while one around them is open.
const PENDING_BYTES_MAX: usize = 1 << 20;

/// Origin of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Launch {
    /// The track of the launch.
    pub track: u32,
    /// The time of the launch.
    pub time: i64,
}

/// A slice that waits.
#[derive(Debug)]
pub(super) struct PendingSlice {
    pub start: i64,
    pub end: i64,
    pub name: String,
    pub category: String,
    /// Its event in the spelling of the trace.
    pub json: Vec<u8>,
    /// Arguments of its end.
    pub end_args: Vec<u8>,
    /// Its launch, or else the launch of the slice around it.
    pub launch: Option<Launch>,
    /// True if it contains others.
    pub is_group: bool,
}

/// Waiting slices of a track.
#[derive(Debug, Default)]
pub(super) struct PendingTrack {
    slices: Vec<PendingSlice>,
    /// Indices of the open slices, outermost first; `None` for a slice that does not wait.
    open: Vec<Option<usize>>,
    n_bytes: usize,
}

impl PendingTrack {
    /// Begins a slice.
    pub(super) fn begin(&mut self, slice: PendingSlice) {
        if slice.end > slice.start
            && let Some(outer) = self.innermost()
        {
            outer.is_group = true;
        }
        self.n_bytes += slice.json.len() + slice.end_args.len();
        self.open.push(Some(self.slices.len()));
        self.slices.push(slice);
    }

    /// Begins a slice that is written already.
    pub(super) fn begin_written(&mut self) {
        self.open.push(None);
    }

    /// Sets the launch of the innermost slice, and of slices around it that begin at the same time. Returns false if
    /// none is open.
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

    /// Returns the innermost open slice.
    fn innermost(&mut self) -> Option<&mut PendingSlice> {
        let place = self.open.iter().rev().find_map(|place| *place)?;
        self.slices.get_mut(place)
    }

    /// Ends the innermost slice. Returns the slices that need not wait any longer, in the order of their begins.
    pub(super) fn end(&mut self) -> Vec<PendingSlice> {
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
        if self.n_bytes <= PENDING_BYTES_MAX {
            return Vec::new();
        }
        self.release_all_but(&places)
    }

    fn release_all_but(&mut self, places: &[usize]) -> Vec<PendingSlice> {
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

    fn slice(name: &str, start: i64, end: i64) -> PendingSlice {
        let (category, json, end_args) = (String::new(), vec![b' '; 9], Vec::new());
        PendingSlice { start, end, name: name.to_owned(), category, json, end_args, launch: None, is_group: false }
    }

    fn names(slices: &[PendingSlice]) -> Vec<String> {
        let spell = |slice: &PendingSlice| {
            let launch = slice.launch.map_or(String::new(), |launch| format!("@{}", launch.time));
            format!("{}{}{launch}", slice.name, if slice.is_group { "*" } else { "" })
        };
        slices.iter().map(spell).collect()
    }

    #[test]
    fn inner_slices_make_a_group_and_inherit_its_launch() {
        let mut row = PendingTrack::default();
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
        row.begin_written();
        row.begin(slice("c", 11, 12));
        assert_eq!(names(&row.end()), ["c"]);
    }

    #[test]
    fn a_long_open_slice_does_not_hold_back_all_others() {
        let mut row = PendingTrack::default();
        row.begin(slice("around", 0, i64::MAX));
        let mut n_done = 0;
        for n in 1..300_000 {
            row.begin(slice("inside", n, n + 1));
            n_done += row.end().len();
            assert!(row.slices.len() < PENDING_BYTES_MAX);
        }
        assert!(n_done > 0);
        n_done += row.end().len();
        assert_eq!(n_done, 300_000);
    }
}
