//! Marks of steps on devices (`gpu_user_annotation`).

use super::find::{Found, MarkedSlice};
use ferrum_trace_model::{StringId, Trace, TrackId};
use hashbrown::HashMap;

/// Stretches on device tracks that correspond to marks of steps.
pub(super) struct Annotations {
    /// Start, end and step by track, sorted by start.
    by_track: HashMap<TrackId, Vec<(i64, i64, u32)>>,
}

impl Annotations {
    /// Matches the n-th stretch of a name on a track with the n-th step of that name. Where the numbers differ, nothing
    /// is matched.
    pub(super) fn of(trace: &Trace, found: &Found) -> Self {
        let name = |found: &MarkedSlice| trace.slices.name[found.slice as usize];
        let mut steps: HashMap<StringId, Vec<u32>> = HashMap::new();
        for (place, step) in found.steps.iter().enumerate() {
            steps.entry(name(step)).or_default().push(place as u32);
        }
        let mut shown: HashMap<(TrackId, StringId), Vec<&MarkedSlice>> = HashMap::new();
        for mark in &found.on_device {
            shown.entry((trace.slices.track[mark.slice as usize], name(mark))).or_default().push(mark);
        }
        let mut by_track: HashMap<TrackId, Vec<(i64, i64, u32)>> = HashMap::new();
        for ((track, name), marks) in shown {
            let Some(steps) = steps.get(&name).filter(|steps| steps.len() == marks.len()) else { continue };
            let time = |mark: &MarkedSlice| {
                let slice = mark.slice as usize;
                (trace.slices.start[slice], trace.slices.end(slice))
            };
            let of_track = by_track.entry(track).or_default();
            of_track.extend(marks.iter().zip(steps).map(|(mark, &step)| {
                let (start, end) = time(mark);
                (start, end, step)
            }));
        }
        for of_track in by_track.values_mut() {
            of_track.sort_unstable();
        }
        Self { by_track }
    }

    /// Returns the step whose mark lies around a moment on a track of a device.
    pub(super) fn step_at(&self, track: TrackId, time: i64) -> Option<u32> {
        let of_track = self.by_track.get(&track)?;
        let n_started = of_track.partition_point(|&(start, ..)| start <= time);
        let &(_, end, step) = of_track.get(n_started.checked_sub(1)?)?;
        (time < end).then_some(step)
    }
}
