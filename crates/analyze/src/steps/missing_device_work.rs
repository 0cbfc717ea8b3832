//! Finds steps whose device work is not in the file.

use super::device::Attributed;
use super::find::Found;
use ferrum_trace_model::vocab::{Phase, device_track};
use ferrum_trace_model::{ProcessId, Trace};
use hashbrown::HashSet;

/// Returns, for each step, whether device work for it is missing in the file, so that the end of its result is unknown:
///
/// - a call of the step launches something, and no kernel has come of it;
/// - the file is of an engine with a device, and has no work of any device;
/// - the step has no work of a device, and other steps of its phase and process have.
pub(super) fn incomplete(trace: &Trace, found: &Found, attributed: &Attributed, names_device: bool) -> Vec<bool> {
    if found.is_on_device {
        return vec![false; found.steps.len()];
    }
    if !attributed.has_work && (names_device || attributed.has_launches || has_device_track(trace)) {
        return vec![true; found.steps.len()];
    }
    let mut has_work = vec![false; found.steps.len()];
    for work in &attributed.works {
        has_work[work.step as usize] = true;
    }
    let kind = |place: usize| -> Option<(Phase, ProcessId)> {
        let step = &found.steps[place];
        let process = trace.tracks.get(trace.slices.track[step.slice as usize]).process;
        step.mark.phase.map(|phase| (phase, process))
    };
    let with_work: HashSet<_> = (0..has_work.len()).filter(|&place| has_work[place]).filter_map(kind).collect();
    let is_incomplete = |place: usize| {
        let is_idle = found.steps[place].mark.batch == Some(0);
        let lacks_work = !has_work[place] && !is_idle && kind(place).is_some_and(|kind| with_work.contains(&kind));
        lacks_work || attributed.n_unanswered[place] > 0
    };
    (0..has_work.len()).map(is_incomplete).collect()
}

/// Returns true if a track is named after a device.
fn has_device_track(trace: &Trace) -> bool {
    let is_device = |name| device_track::parse(trace.strings.get(name)).is_some();
    trace.tracks.iter().any(|(_, track)| track.name.is_some_and(is_device))
}
