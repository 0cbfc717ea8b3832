//! Numbers for processes and threads, so that all viewers keep them apart.

use crate::check::ids::Ids;
use crate::check::slices::SlicePlan;
use crate::rewrite::free_numbers::{FreeNumbers, ThreadNumber, plain_number};
use crate::rewrite::json::{metadata, naming};
use ferrum_trace_model::{ProcessId, StringId, TrackId};
use hashbrown::HashMap;

/// The ids of processes, threads and lanes in the file that is written.
#[derive(Debug, Default)]
pub struct Numbering {
    pids: Vec<Id>,
    tids: Vec<Option<Id>>,
    lanes: HashMap<(TrackId, u32), u32>,
}

/// The id of a process or a thread.
#[derive(Clone, Copy, Debug)]
pub struct Id {
    /// Its number.
    pub number: u32,
    /// Whether the file has another id for it, or none.
    pub is_new: bool,
}

impl Id {
    fn kept(number: u32) -> Self {
        Self { number, is_new: false }
    }

    fn new(free: &mut FreeNumbers) -> Self {
        Self { number: free.take(), is_new: true }
    }
}

impl Numbering {
    /// For a file.
    pub fn of(ids: &Ids, slices: &SlicePlan) -> Self {
        let Ids { tracks, strings, .. } = ids;
        let mut free = FreeNumbers::beside([(tracks, strings)].into_iter());
        let mut numbering = Self::default();
        for (_, process) in tracks.processes() {
            let kept = plain_number(process.pid, strings).map(Id::kept);
            numbering.pids.push(kept.unwrap_or_else(|| Id::new(&mut free)));
        }
        for (track, of_track) in tracks.iter() {
            let pid = numbering.pids[of_track.process.index()].number;
            numbering.tids.push(match ThreadNumber::of(of_track.tid, strings, ids.usage(track).is_shown, pid) {
                ThreadNumber::Kept(tid) => Some(Id::kept(tid)),
                ThreadNumber::New => Some(Id::new(&mut free)),
                ThreadNumber::Nothing => None,
            });
        }
        let mut tracks: Vec<(&u32, &u32)> = slices.n_lanes.iter().collect();
        tracks.sort_unstable();
        for (&track, &n_lanes) in tracks {
            for lane in 1..n_lanes {
                numbering.lanes.insert((TrackId(track), lane), free.take());
            }
        }
        numbering
    }

    /// The id of a process.
    pub fn pid(&self, process: ProcessId) -> Option<Id> {
        self.pids.get(process.index()).copied()
    }

    /// The id of a lane of a track, if it needs one.
    pub fn tid(&self, track: TrackId, lane: u32) -> Option<Id> {
        match lane {
            0 => self.tids.get(track.index()).copied().flatten(),
            _ => self.lanes.get(&(track, lane)).map(|&number| Id { number, is_new: true }),
        }
    }

    /// Metadata events that name what has a new number, each as JSON.
    pub fn names(&self, ids: &Ids) -> Vec<Vec<u8>> {
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

/// What to call something by its old id. Perfetto does not take empty names.
fn old_id<'a>(id: Option<StringId>, ids: &'a Ids, none: &'a str) -> &'a str {
    id.map(|id| ids.text(id)).filter(|id| !id.is_empty()).unwrap_or(none)
}
