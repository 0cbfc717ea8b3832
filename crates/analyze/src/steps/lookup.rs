//! Finds the step of a moment.

use ferrum_trace_model::{Trace, TrackId};

/// Finds the step of a moment on a track: a step of the track if it has steps, else one of its process, else any.
#[derive(Debug)]
pub(crate) struct StepLookup {
    /// One entry per track.
    tracks: Vec<Stretches>,
    /// One entry per process.
    processes: Vec<Stretches>,
    everywhere: Stretches,
}

impl StepLookup {
    /// Indexes steps, which must be sorted by start. A step is identified by its index among them.
    pub(crate) fn of(trace: &Trace, steps: impl Iterator<Item = u32>) -> Self {
        let mut lookup = Self {
            tracks: vec![Stretches::default(); trace.tracks.len()],
            processes: vec![Stretches::default(); trace.tracks.processes().len()],
            everywhere: Stretches::default(),
        };
        for (place, slice) in steps.enumerate() {
            let slice = slice as usize;
            let stretch =
                Stretch { start: trace.slices.start[slice], end: trace.slices.end(slice), step: place as u32 };
            let track = trace.slices.track[slice];
            lookup.tracks[track.index()].push(stretch);
            lookup.processes[trace.tracks.get(track).process.index()].push(stretch);
            lookup.everywhere.push(stretch);
        }
        lookup
    }

    /// Returns the step at this time.
    pub(crate) fn step_at(&self, trace: &Trace, track: TrackId, time: i64) -> Option<u32> {
        let own = &self.tracks[track.index()];
        let of_process = &self.processes[trace.tracks.get(track).process.index()];
        let nearest = [own, of_process].into_iter().find(|stretches| !stretches.all.is_empty());
        nearest.unwrap_or(&self.everywhere).at(time)
    }
}

#[derive(Clone, Copy, Debug)]
struct Stretch {
    start: i64,
    end: i64,
    step: u32,
}

/// Stretches sorted by start; they may overlap.
#[derive(Clone, Debug, Default)]
struct Stretches {
    all: Vec<Stretch>,
    /// Running maximum by end.
    latest_end: Vec<Stretch>,
}

impl Stretches {
    fn push(&mut self, stretch: Stretch) {
        let latest = self.latest_end.last().copied().filter(|latest| latest.end > stretch.end);
        self.all.push(stretch);
        self.latest_end.push(latest.unwrap_or(stretch));
    }

    /// Returns the stretch that started last, if it is still open; else any open one.
    fn at(&self, time: i64) -> Option<u32> {
        let place = self.all.partition_point(|stretch| stretch.start <= time).checked_sub(1)?;
        let candidates = [self.all.get(place)?, self.latest_end.get(place)?];
        candidates.into_iter().find(|stretch| time < stretch.end).map(|stretch| stretch.step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_traces;

    #[test]
    fn a_track_uses_its_own_steps_then_its_process_then_all() {
        let trace = test_traces::trace(&[
            ("1", "1", "step", "decode", 0, 10),
            ("1", "2", "step", "decode", 5, 30),
            ("1", "1", "step", "decode", 20, 25),
            ("1", "3", "", "other thread", 0, 1),
            ("gpu", "7", "kernel", "kernel", 0, 1),
        ]);
        let lookup = StepLookup::of(&trace, [0, 1, 2].into_iter());
        let at = |slice: usize, time: i64| lookup.step_at(&trace, trace.slices.track[slice], time);
        assert_eq!([at(0, 0), at(0, 9), at(0, 10), at(0, 22), at(0, -1)], [Some(0), Some(0), None, Some(2), None]);
        assert_eq!([at(3, 7), at(3, 22), at(3, 27), at(3, 30)], [Some(1), Some(2), Some(1), None]);
        assert_eq!([at(4, 3), at(4, 27)], [Some(0), Some(1)]);
    }
}
