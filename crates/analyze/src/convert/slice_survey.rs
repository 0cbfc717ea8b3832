//! Properties of a trace that must be known before its slices are written.

use super::record::{NEVER, Record};
use super::step_marks::{MarkKind, StepMark, arg};
use crate::figures::layer_search::{LAYER_ARG, LayerSource, layer_in, layer_of_value, tids_are_layers};
use crate::kineto::{CORRELATION, RUNTIMES};
use ferrum_trace_model::vocab::graph;
use ferrum_trace_model::{Strings, TrackId, Tracks};

/// Properties of all slices of a trace.
#[derive(Debug, Default)]
pub(super) struct SliceSurvey {
    by_arg: Variety,
    by_name: Variety,
    /// One entry per track, as far as tracks have slices.
    tracks: Vec<TrackSurvey>,
    /// The best kind of marks.
    kind: Option<MarkKind>,
    /// True if a call that launches device work states its correlation.
    pub has_calls: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct TrackSurvey {
    has_slices: bool,
    /// The best kind of marks on the track.
    kind: Option<MarkKind>,
}

/// Layers of one source.
#[derive(Debug, Default)]
struct Variety {
    first: Option<u32>,
    has_several: bool,
}

impl Variety {
    fn add(&mut self, layer: Option<u32>) {
        self.has_several |= layer.is_some() && self.first.is_some() && self.first != layer;
        self.first = self.first.or(layer);
    }
}

impl SliceSurvey {
    /// Adds a slice. Slices without an end do not count, as in other commands.
    pub(super) fn add(&mut self, slice: &Record<'_>) {
        if slice.end == NEVER {
            return;
        }
        if !self.by_arg.has_several {
            self.by_arg.add(arg(slice.args, LAYER_ARG).and_then(|text| layer_of_value(&text)));
            self.by_name.add(layer_in(slice.name));
        }
        self.has_calls |= !self.has_calls && is_call(slice.category) && arg(slice.args, CORRELATION).is_some();
        let kind = StepMark::of(slice.name, slice.category, slice.args).map(|mark| mark.kind);
        let row = slice.row as usize;
        if self.tracks.len() <= row {
            self.tracks.resize(row + 1, TrackSurvey::default());
        }
        let track = &mut self.tracks[row];
        track.has_slices = true;
        track.kind = best(track.kind, kind);
        self.kind = best(self.kind, kind);
    }

    /// Returns the kind of marks that are steps.
    pub(super) fn step_kind(&self) -> Option<MarkKind> {
        self.kind
    }

    /// Returns true if a track has steps.
    pub(super) fn has_steps(&self, track: TrackId) -> bool {
        self.kind.is_some() && self.tracks.get(track.index()).is_some_and(|track| track.kind == self.kind)
    }

    /// Returns the source of layers that `LayerSource::Auto` finds.
    pub(super) fn layer_source(&self, tracks: &Tracks, strings: &Strings) -> LayerSource {
        if self.by_arg.has_several {
            return LayerSource::Arg;
        }
        let has_slices = |id: TrackId| self.tracks.get(id.index()).is_some_and(|track| track.has_slices);
        let used = tracks.iter().filter(|(id, _)| has_slices(*id));
        let tids = used.filter_map(|(_, track)| track.tid).map(|tid| strings.get(tid));
        if !self.by_name.has_several && tids_are_layers(tids) { LayerSource::Tid } else { LayerSource::Name }
    }
}

/// Returns the better of two kinds.
fn best(one: Option<MarkKind>, other: Option<MarkKind>) -> Option<MarkKind> {
    one.into_iter().chain(other).min()
}

/// Returns true if slices of a category may launch device work: calls of a runtime, and replays of graphs.
fn is_call(category: &str) -> bool {
    RUNTIMES.contains(&category) || category == graph::CATEGORY
}
