//! The step of a moment, while slices arrive in time order.

use crate::convert::slice_survey::SliceSurvey;
use crate::convert::step_marks::{MarkKind, StepMark};
use ferrum_trace_model::vocab::Phase;
use ferrum_trace_model::{TrackId, Tracks};

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StepRef {
    /// Its number, counted from 1 by start.
    pub number: u32,
    /// Its phase.
    pub phase: Option<Phase>,
}

/// Finds the step of a moment on a track: a step of the track if it has steps, else one of its process, else any.
#[derive(Debug)]
pub(super) struct StepTracker {
    /// The kind of marks that are steps.
    kind: Option<MarkKind>,
    n_steps: u32,
    tracks: Vec<Scope>,
    processes: Vec<Scope>,
    everywhere: Scope,
}

/// Steps of a track, of a process or of the trace.
#[derive(Clone, Copy, Debug, Default)]
struct Scope {
    /// True if it has steps, now or later.
    has_steps: bool,
    /// The step that began last.
    latest: Option<Stretch>,
    /// The step that ends last.
    longest: Option<Stretch>,
}

#[derive(Clone, Copy, Debug)]
struct Stretch {
    end: i64,
    step: StepRef,
}

impl Scope {
    fn begin(&mut self, stretch: Stretch) {
        self.latest = Some(stretch);
        self.longest = Some(self.longest.filter(|longest| longest.end > stretch.end).unwrap_or(stretch));
    }

    fn at(&self, time: i64) -> Option<StepRef> {
        let candidates = [self.latest, self.longest].into_iter().flatten();
        candidates.into_iter().find(|stretch| time < stretch.end).map(|stretch| stretch.step)
    }
}

impl StepTracker {
    pub(super) fn new(survey: &SliceSurvey, tracks: &Tracks) -> Self {
        let mut tracker = Self {
            kind: survey.step_kind(),
            n_steps: 0,
            tracks: vec![Scope::default(); tracks.len()],
            processes: vec![Scope::default(); tracks.processes().len()],
            everywhere: Scope { has_steps: true, ..Scope::default() },
        };
        for (id, track) in tracks.iter().filter(|(id, _)| survey.has_steps(*id)) {
            tracker.tracks[id.index()].has_steps = true;
            tracker.processes[track.process.index()].has_steps = true;
        }
        tracker
    }

    /// Returns true if steps are marked on the host, so that they have the device work that they launch.
    pub(super) fn is_on_host(&self) -> bool {
        matches!(self.kind, Some(MarkKind::Host | MarkKind::HostProfiler))
    }

    /// Begins a step if the mark is one: marks of another kind and marks inside another step of the track are not.
    pub(super) fn begin(&mut self, tracks: &Tracks, track: TrackId, (start, end): (i64, i64), mark: StepMark) {
        let outer = self.tracks[track.index()].latest;
        let is_inside = outer.is_some_and(|outer| outer.end >= end.max(start.saturating_add(1)));
        if self.kind != Some(mark.kind) || is_inside {
            return;
        }
        self.n_steps = self.n_steps.saturating_add(1);
        let stretch = Stretch { end, step: StepRef { number: self.n_steps, phase: mark.phase } };
        self.tracks[track.index()].begin(stretch);
        self.processes[tracks.get(track).process.index()].begin(stretch);
        self.everywhere.begin(stretch);
    }

    /// Returns the step at this time, which must not be before that of any slice so far.
    pub(super) fn at(&self, tracks: &Tracks, track: TrackId, time: i64) -> Option<StepRef> {
        let own = &self.tracks[track.index()];
        let of_process = &self.processes[tracks.get(track).process.index()];
        let nearest = [own, of_process].into_iter().find(|scope| scope.has_steps);
        nearest.unwrap_or(&self.everywhere).at(time)
    }
}
