//! Selection of slices by name, category, track, process, arguments, time and enclosing slice.

use super::arg_filter::ArgFilter;
use super::glob::Glob;
use super::nesting::{NestingKey, enclosing_end_min, nesting_key};
use ferrum_trace_model::{ProcessId, StringId, Trace, Track, TrackId};
use std::cmp::Reverse;
use std::ops::Range;

/// Conditions on slices. A slice is selected if it satisfies all of them; by default, all slices are.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Patterns for the name, of which one must match; no pattern means any name. The other patterns work the same way.
    pub names: Vec<Glob>,
    /// Patterns for the category.
    pub categories: Vec<Glob>,
    /// Patterns for the track: its id, its name or its label.
    pub tracks: Vec<Glob>,
    /// Patterns for the process: its id, its name or its label.
    pub processes: Vec<Glob>,
    /// Conditions on arguments, one for each name.
    pub args: Vec<ArgFilter>,
    /// Range of nanoseconds from the first event of the trace. A slice belongs to the range in which it starts, so that
    /// adjacent ranges share no slice and lose none.
    pub time: Option<Range<i64>>,
    /// Patterns for the name of a slice that encloses the selected one: on its own track if that has such slices, else
    /// in its process if that has any, else anywhere.
    pub within: Vec<Glob>,
}

/// Set of selected slices.
#[derive(Clone, Debug)]
pub struct Selected {
    n_slices: usize,
    /// One entry per slice, or `None` if all are selected.
    mask: Option<Vec<bool>>,
    /// Length of the time range that they were selected from.
    wall: i64,
}

impl Selected {
    /// Selects all slices of a trace.
    pub fn all(trace: &Trace) -> Self {
        Self { n_slices: trace.slices.len(), mask: None, wall: trace.census.span() }
    }

    /// Returns true if the slice with this index is selected.
    #[inline]
    pub fn contains(&self, slice: usize) -> bool {
        self.mask.as_ref().is_none_or(|mask| mask[slice])
    }

    /// Returns the number of selected slices.
    pub fn len(&self) -> usize {
        self.mask.as_ref().map_or(self.n_slices, |mask| mask.iter().filter(|&&is_in| is_in).count())
    }

    /// Returns true if no slice is selected.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the indices of the selected slices.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        (0..self.n_slices).filter(|&slice| self.contains(slice))
    }

    /// Returns the length of the time range that they were selected from, as far as the trace covers it, in
    /// nanoseconds.
    pub fn wall(&self) -> i64 {
        self.wall
    }

    /// Removes the slices that do not satisfy a condition.
    pub fn retain(&mut self, mut condition: impl FnMut(usize) -> bool) {
        let mask = self.mask.get_or_insert_with(|| vec![true; self.n_slices]);
        for (slice, is_in) in mask.iter_mut().enumerate() {
            *is_in = *is_in && condition(slice);
        }
    }
}

impl Selection {
    /// Returns true if every slice is selected.
    pub fn is_everything(&self) -> bool {
        let Self { names, categories, tracks, processes, args, time, within } = self;
        let has_no_more = time.is_none() && args.is_empty();
        has_no_more && [names, categories, tracks, processes, within].iter().all(|globs| globs.is_empty())
    }

    /// Selects slices of a trace.
    pub fn apply(&self, trace: &Trace) -> Selected {
        let mut selected = Selected::all(trace);
        let slices = &trace.slices;
        if !self.names.is_empty() {
            let matching = matching_strings(trace, &self.names);
            selected.retain(|slice| matching[slices.name[slice].index()]);
        }
        if !self.categories.is_empty() {
            let matching = matching_strings(trace, &self.categories);
            selected.retain(|slice| matching[slices.category[slice].index()]);
        }
        if !self.tracks.is_empty() || !self.processes.is_empty() {
            let matching = self.matching_tracks(trace);
            selected.retain(|slice| matching[slices.track[slice].index()]);
        }
        for filter in &self.args {
            let matcher = filter.matcher(trace);
            selected.retain(|slice| matcher.matches(slices.order[slice]));
        }
        if let Some(time) = &self.time {
            let first = trace.census.first.unwrap_or(0);
            selected.retain(|slice| time.contains(&slices.start[slice].saturating_sub(first)));
            selected.wall = overlap(time, &(0..trace.census.span()));
        }
        if !self.within.is_empty() {
            let enclosing = Enclosing::new(trace, &self.within);
            selected.retain(|slice| enclosing.holds(trace, slice));
        }
        selected
    }

    /// Returns, for each track, whether it is selected.
    pub(crate) fn matching_tracks(&self, trace: &Trace) -> Vec<bool> {
        let matches = |(id, track): (TrackId, &Track)| {
            self.matches_track(trace, id) && self.matches_process(trace, track.process)
        };
        trace.tracks.iter().map(matches).collect()
    }

    fn matches_track(&self, trace: &Trace, id: TrackId) -> bool {
        let track = trace.tracks.get(id);
        let label = || trace.tracks.label(id, &trace.strings);
        self.tracks.is_empty() || matches_any(&self.tracks, trace, &[track.tid, track.name], label)
    }

    fn matches_process(&self, trace: &Trace, id: ProcessId) -> bool {
        let process = trace.tracks.get_process(id);
        let label = || trace.tracks.process_label(id, &trace.strings);
        self.processes.is_empty() || matches_any(&self.processes, trace, &[process.pid, process.name], label)
    }
}

/// Returns the length of the overlap of two ranges.
fn overlap(range: &Range<i64>, other: &Range<i64>) -> i64 {
    range.end.min(other.end).saturating_sub(range.start.max(other.start)).max(0)
}

fn matches_any(globs: &[Glob], trace: &Trace, texts: &[Option<StringId>], label: impl Fn() -> String) -> bool {
    let matches = |text: &str| globs.iter().any(|glob| glob.matches(text));
    texts.iter().flatten().any(|&text| matches(trace.strings.get(text))) || matches(&label())
}

/// Returns, for each text of a trace, whether any of the patterns matches it.
pub(crate) fn matching_strings(trace: &Trace, globs: &[Glob]) -> Vec<bool> {
    trace.strings.iter().map(|(_, text)| globs.iter().any(|glob| glob.matches(text))).collect()
}

/// Slices that enclose others: phases, steps, requests.
///
/// A slice lies in another one if it neither starts before nor ends after it, nor starts where that one ends. The
/// enclosing slices that count depend on the track of the slice: on a track that has enclosing slices, only these (two
/// threads may be in different phases at the same time); else those of its process, if it has any; else all, as for the
/// kernels of a device in the steps of a thread. No slice lies in itself: on a track that has enclosing slices, one of
/// these counts only if it lies in another of them.
#[derive(Clone, Debug)]
pub(crate) struct Enclosing {
    /// One entry per track, empty if the track has none.
    tracks: Vec<Cover>,
    /// One entry per process.
    processes: Vec<Cover>,
    everywhere: Cover,
    n_slices: usize,
}

impl Enclosing {
    /// Collects the slices whose names match any of the patterns.
    pub(crate) fn new(trace: &Trace, names: &[Glob]) -> Self {
        let matching = matching_strings(trace, names);
        let slices = &trace.slices;
        let mut enclosing: Vec<u32> =
            (0..slices.len() as u32).filter(|&slice| matching[slices.name[slice as usize].index()]).collect();
        enclosing.sort_unstable_by_key(|&slice| nesting_key(slices, slice));

        let mut tracks = vec![Cover::default(); trace.tracks.len()];
        let mut processes = vec![Cover::default(); trace.tracks.processes().len()];
        let mut everywhere = Cover::default();
        for &slice in &enclosing {
            let (track, key) = (slices.track[slice as usize], nesting_key(slices, slice));
            tracks[track.index()].push(key);
            processes[trace.tracks.get(track).process.index()].push(key);
            everywhere.push(key);
        }
        Self { tracks, processes, everywhere, n_slices: enclosing.len() }
    }

    /// Returns the number of enclosing slices.
    pub(crate) fn len(&self) -> usize {
        self.n_slices
    }

    /// Returns true if a slice lies in one of them.
    pub(crate) fn holds(&self, trace: &Trace, slice: usize) -> bool {
        let slices = &trace.slices;
        let (track, end_min) = (slices.track[slice], enclosing_end_min(slices, slice));
        let own = &self.tracks[track.index()];
        if !own.is_empty() {
            return own.latest_end_before(nesting_key(slices, slice as u32)) >= Some(end_min);
        }
        self.holds_of_process(trace.tracks.get(track).process, slices.start[slice], end_min)
    }

    /// Returns true if an item of a process that is on none of its tracks lies in one of them: from `start` to at least
    /// `end_min`.
    pub(crate) fn holds_of_process(&self, process: ProcessId, start: i64, end_min: i64) -> bool {
        let of_process = &self.processes[process.index()];
        let others = if of_process.is_empty() { &self.everywhere } else { of_process };
        let not_after = (start, Reverse(i64::MIN), u32::MAX);
        others.latest_end_before(not_after) >= Some(end_min)
    }
}

/// Stretches of time, for lookups of the stretches that contain another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cover {
    /// Sort keys. Each stretch ends after all before it; one that does not is never needed and left out.
    keys: Vec<NestingKey>,
}

impl Cover {
    /// Adds a stretch that sorts after all others.
    pub(crate) fn push(&mut self, key: NestingKey) {
        let (_, Reverse(end), _) = key;
        if self.keys.last().is_none_or(|&(_, Reverse(latest_end), _)| latest_end < end) {
            self.keys.push(key);
        }
    }

    fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    pub(crate) fn latest_end_before(&self, key: NestingKey) -> Option<i64> {
        let n_before = self.keys.partition_point(|&other| other < key);
        let (_, Reverse(latest_end), _) = self.keys[n_before.checked_sub(1)?];
        Some(latest_end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_traces;

    fn globs(patterns: &[&str]) -> Vec<Glob> {
        patterns.iter().map(|&pattern| Glob::new(pattern)).collect()
    }

    fn selected(trace: &Trace, selection: &Selection) -> Vec<usize> {
        let selected = selection.apply(trace);
        let found: Vec<usize> = selected.iter().collect();
        assert_eq!((selected.len(), selected.is_empty()), (found.len(), found.is_empty()));
        found
    }

    #[test]
    fn a_slice_must_satisfy_every_condition() {
        let mut trace = test_traces::trace(&[
            ("1", "7", "attention", "qkv", 100, 110),
            ("1", "7", "gemm", "qkv", 110, 120),
            ("1", "8", "gemm", "up", 120, 130),
            ("2", "7", "gemm", "qkv", 130, 140),
        ]);
        let name = trace.strings.intern("worker");
        trace.tracks.get_mut(TrackId(1)).name = Some(name);
        let all = Selection::default();
        assert!(all.is_everything());
        assert_eq!(selected(&trace, &all), [0, 1, 2, 3]);
        let names = Selection { names: globs(&["up", "q*"]), ..all.clone() };
        assert_eq!(selected(&trace, &names), [0, 1, 2, 3]);
        assert!(!names.is_everything());
        let both = Selection { names: globs(&["qkv"]), categories: globs(&["g?mm"]), ..all.clone() };
        assert_eq!(selected(&trace, &both), [1, 3]);
        for pattern in ["8", "worker", "worker (8)"] {
            assert_eq!(selected(&trace, &Selection { tracks: globs(&[pattern]), ..all.clone() }), [2]);
        }
        for pattern in ["2", "process 2"] {
            assert_eq!(selected(&trace, &Selection { processes: globs(&[pattern]), ..all.clone() }), [3]);
        }
        assert_eq!(selected(&trace, &Selection { time: Some(10..30), ..all.clone() }), [1, 2]);
        assert_eq!(selected(&trace, &Selection { names: globs(&["nobody"]), ..all }), [0; 0]);
    }

    fn within(trace: &Trace, pattern: &str) -> Vec<usize> {
        selected(trace, &Selection { within: globs(&[pattern]), ..Selection::default() })
    }

    #[test]
    fn a_track_with_phases_uses_its_own() {
        let trace = test_traces::trace(&[
            ("1", "1", "", "decode 1", 0, 10),
            ("1", "1", "", "a", 2, 4),
            ("1", "1", "", "b", 12, 14),
            ("1", "2", "", "decode 2", 20, 30),
            ("1", "2", "", "while the other decodes", 2, 4),
            ("1", "2", "", "c", 20, 30),
            ("1", "2", "", "ends later", 25, 31),
            ("1", "2", "", "at the end", 30, 30),
        ]);
        assert_eq!(within(&trace, "decode*"), [1, 5]);
        assert_eq!(within(&trace, "prefill*"), [0; 0]);
    }

    #[test]
    fn a_track_without_phases_uses_its_process_then_all() {
        let trace = test_traces::trace(&[
            ("1", "1", "", "step", 0, 10),
            ("2", "1", "", "step", 20, 30),
            ("1", "2", "", "in the process", 0, 10),
            ("1", "2", "", "in another process only", 22, 24),
            ("gpu", "7", "", "kernel", 22, 24),
            ("gpu", "7", "", "kernel", 12, 14),
        ]);
        assert_eq!(within(&trace, "step"), [2, 4]);
        assert_eq!(Enclosing::new(&trace, &globs(&["step"])).len(), 2);
        assert_eq!(Enclosing::new(&trace, &globs(&["nobody"])).len(), 0);
    }

    #[test]
    fn a_phase_is_in_another_of_its_name_but_not_in_itself() {
        let trace = test_traces::track(&[("step", 0, 10), ("step", 0, 10), ("step", 2, 5), ("step", 11, 12)]);
        assert_eq!(within(&trace, "step"), [1, 2]);
    }
}
