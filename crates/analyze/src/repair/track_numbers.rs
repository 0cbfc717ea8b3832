//! Numbers for processes, threads and lanes, so that all viewers distinguish them.

use crate::check::ids::Ids;
use crate::check::slices::SlicePlan;
use crate::rewrite::json::{metadata, naming};
use crate::rewrite::numbering::{FreeNumbers, Id, NumberSource, Numbers};
use ferrum_trace_model::{ProcessId, StringId, TrackId};
use hashbrown::HashMap;

/// Numbers of processes, threads and lanes in the output.
#[derive(Debug, Default)]
pub(super) struct TrackNumbers {
    numbers: Numbers,
    lanes: HashMap<(TrackId, u32), u32>,
}

impl NumberSource for FreeNumbers {
    fn pid(&mut self, _: Option<StringId>, plain: Option<u32>) -> Id {
        plain.map_or_else(|| Id::new(self.take()), Id::kept)
    }

    fn new_tid(&mut self, _: u32, _: Option<StringId>) -> u32 {
        self.take()
    }
}

impl TrackNumbers {
    /// Assigns the numbers of a file.
    pub(super) fn of(ids: &Ids, slices: &SlicePlan) -> Self {
        let Ids { tracks, strings, .. } = ids;
        let mut free = FreeNumbers::beside([(tracks, strings)].into_iter());
        let numbers = Numbers::assign(tracks, strings, |track| ids.usage(track).is_shown, &mut free);
        let mut lanes = HashMap::new();
        let mut tracks: Vec<(&u32, &u32)> = slices.n_lanes.iter().collect();
        tracks.sort_unstable();
        for (&track, &n_lanes) in tracks {
            for lane in 1..n_lanes {
                lanes.insert((TrackId(track), lane), free.take());
            }
        }
        Self { numbers, lanes }
    }

    /// Returns the number of a process.
    pub(super) fn pid(&self, process: ProcessId) -> Option<Id> {
        self.numbers.pid(process)
    }

    /// Returns the number of a lane of a track, or `None` if it needs none. Lane 0 is the thread itself.
    pub(super) fn tid(&self, track: TrackId, lane: u32) -> Option<Id> {
        match lane {
            0 => self.numbers.tid(track),
            _ => self.lanes.get(&(track, lane)).map(|&number| Id::new(number)),
        }
    }

    /// Returns metadata events that name the tracks with a new number, each as JSON.
    pub(super) fn names(&self, ids: &Ids) -> Vec<Vec<u8>> {
        let mut events = Vec::new();
        for (process, of_process) in ids.tracks.processes() {
            if let (Some(pid), None) = (self.pid(process).filter(|pid| pid.is_new), of_process.name) {
                let name = old_id(of_process.pid, ids, "no process");
                events.push(naming("process_name", pid.number, None, name));
            }
        }
        for (track, of_track) in ids.tracks.iter() {
            let Some(pid) = self.pid(of_track.process).map(|pid| pid.number) else {
                continue;
            };
            let old = old_id(of_track.tid, ids, "no thread");
            if let (Some(tid), None) = (self.tid(track, 0).filter(|tid| tid.is_new), of_track.name) {
                events.push(naming("thread_name", pid, Some(tid.number), old));
            }
            let name = of_track.name.map_or(old, |name| ids.text(name));
            for lane in 1.. {
                let Some(tid) = self.tid(track, lane).map(|tid| tid.number) else {
                    break;
                };
                events.push(naming("thread_name", pid, Some(tid), &format!("{name} ({})", lane + 1)));
                if let Some(index) = of_track.sort_index {
                    let args = format!("{{\"sort_index\":{index}}}");
                    events.push(metadata("thread_sort_index", pid, Some(tid), args.as_bytes()));
                }
            }
        }
        events
    }
}

/// Returns a name made from an old id. Perfetto does not accept empty names.
fn old_id<'a>(id: Option<StringId>, ids: &'a Ids, none: &'a str) -> &'a str {
    id.map(|id| ids.text(id)).filter(|id| !id.is_empty()).unwrap_or(none)
}
