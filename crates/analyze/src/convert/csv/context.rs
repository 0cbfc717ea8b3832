//! Layer, step, phase and parent of slices that arrive in time order.

use super::launches::{Launch, Launches};
use super::step_tracker::{StepRef, StepTracker};
use crate::convert::record::{NEVER, Record};
use crate::convert::slice_survey::SliceSurvey;
use crate::convert::step_marks::{StepMark, arg};
use crate::figures::layer_search::{LAYER_ARG, LayerSource, layer_in, layer_of_value, number};
use crate::kineto::{CORRELATION, DEVICE_WORK};
use ferrum_trace_model::vocab::device::CLOCK_ERROR_NS;
use ferrum_trace_model::vocab::device_track;
use ferrum_trace_model::{Strings, TrackId, Tracks};
use std::rc::Rc;

/// Context of a slice.
#[derive(Debug)]
pub(super) struct SliceContext {
    /// The layer that it belongs to.
    pub layer: Option<u32>,
    /// The step that it belongs to.
    pub step: Option<StepRef>,
    /// The name of the innermost slice around it.
    pub parent: Option<Rc<str>>,
}

/// Open slices, steps and launches.
#[derive(Debug)]
pub(super) struct Contexts<'a> {
    tracks: &'a Tracks,
    source: LayerSource,
    /// True if correlations join kernels with calls.
    has_calls: bool,
    of_tracks: Vec<OpenTrack>,
    steps: StepTracker,
    launches: Launches,
}

#[derive(Debug, Default)]
struct OpenTrack {
    /// True if it is named after a device.
    is_device: bool,
    /// Its id, if that is a number.
    tid: Option<u32>,
    /// Open slices, outermost first.
    open: Vec<OpenSlice>,
}

#[derive(Debug)]
struct OpenSlice {
    end: i64,
    name: Rc<str>,
    layer: Option<u32>,
}

impl<'a> Contexts<'a> {
    pub(super) fn new(survey: &SliceSurvey, tracks: &'a Tracks, strings: &Strings) -> Self {
        let of_tracks = tracks.iter().map(|(_, track)| OpenTrack {
            is_device: track.name.is_some_and(|name| device_track::parse(strings.get(name)).is_some()),
            tid: track.tid.and_then(|tid| number(strings.get(tid))),
            open: Vec::new(),
        });
        Self {
            tracks,
            source: survey.layer_source(tracks, strings),
            has_calls: survey.has_calls,
            of_tracks: of_tracks.collect(),
            steps: StepTracker::new(survey, tracks),
            launches: Launches::default(),
        }
    }

    /// Begins a slice and returns its context. Slices must arrive by start, outer ones first.
    pub(super) fn begin(&mut self, time: i64, slice: &Record<'_>) -> SliceContext {
        let track = TrackId(slice.row);
        // A slice without an end is nobody's parent and no step, as in commands that leave it out.
        let end = Some(slice.end).filter(|&end| end != NEVER);
        if let (Some(end), Some(mark)) = (end, StepMark::of(slice.name, slice.category, slice.args)) {
            self.steps.begin(self.tracks, track, (time, end), mark);
        }
        let own = self.own_layer(slice);
        let open = &mut self.of_tracks[track.index()].open;
        let end_min = end.unwrap_or(time).max(time.saturating_add(1));
        while open.pop_if(|outer| outer.end < end_min).is_some() {}
        let layer = own.or_else(|| open.last()?.layer);
        let parent = open.last().map(|outer| Rc::clone(&outer.name));
        let by_time = Launch { step: self.steps.at(self.tracks, track, time), layer };
        let Launch { step, layer } = self.join(track, time, slice, by_time);
        let opened = end.map(|end| OpenSlice { end, name: slice.name.into(), layer });
        self.of_tracks[track.index()].open.extend(opened);
        SliceContext { layer, step, parent }
    }

    /// Begins a flow.
    pub(super) fn flow_begin(&mut self, time: i64, flow: &Record<'_>) {
        let step = self.steps.at(self.tracks, TrackId(flow.row), time);
        let open = &self.of_tracks[flow.row as usize].open;
        let layer = open.iter().rev().find(|slice| slice.end >= time).and_then(|slice| slice.layer);
        self.launches.flow_begin(flow.group, Launch { step, layer });
    }

    /// Ends a flow at the slice that begins at the same time.
    pub(super) fn flow_end(&mut self, time: i64, flow: &Record<'_>) {
        self.launches.flow_end(flow.group, flow.row, time);
    }

    fn own_layer(&self, slice: &Record<'_>) -> Option<u32> {
        match self.source {
            LayerSource::Arg => arg(slice.args, LAYER_ARG).and_then(|text| layer_of_value(&text)),
            LayerSource::Tid => self.of_tracks[slice.row as usize].tid,
            LayerSource::Name | LayerSource::Auto => layer_in(slice.name),
        }
    }

    /// Returns step and layer of the launch of device work. Other slices, and device work whose launch is unknown, have
    /// those in which they begin.
    fn join(&mut self, track: TrackId, time: i64, slice: &Record<'_>, by_time: Launch) -> Launch {
        let correlation = if self.has_calls { arg(slice.args, CORRELATION) } else { None };
        if !self.is_device_work(time, slice) {
            if let Some(correlation) = correlation {
                self.launches.call(&correlation, by_time);
            }
            return by_time;
        }
        let launch = self.launch_of(correlation.as_deref(), track, time);
        let of_launch = launch.filter(|_| self.steps.is_on_host());
        let of_layer = launch.filter(|_| self.source != LayerSource::Tid);
        Launch {
            step: of_launch.map_or(by_time.step, |launch| launch.step),
            layer: by_time.layer.or_else(|| of_layer?.layer),
        }
    }

    /// Returns the launch of a kernel; `None` if that cannot be known.
    fn launch_of(&mut self, correlation: Option<&str>, track: TrackId, time: i64) -> Option<Launch> {
        let by_call = correlation.and_then(|correlation| self.launches.of_correlation(correlation));
        let by_flow = by_call.or_else(|| self.launches.of_flow(track.0, time));
        // A call that is not in the file was made before the file begins.
        by_flow.or_else(|| correlation.map(|_| Launch::default()))
    }

    fn is_device_work(&self, time: i64, slice: &Record<'_>) -> bool {
        let is_measured = || self.launches.has_arrived(slice.row, time) && arg(slice.args, CLOCK_ERROR_NS).is_some();
        DEVICE_WORK.contains(&slice.category) || self.of_tracks[slice.row as usize].is_device || is_measured()
    }
}
