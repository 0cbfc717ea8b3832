//! Numbers for processes and threads, so that all viewers keep them apart.

use crate::check::ids::{Ids, number};
use crate::check::slices::SlicePlan;
use ferrum_trace_format::chrome::{push_decimal, push_text};
use ferrum_trace_model::{ProcessId, StringId, TrackId};
use hashbrown::{HashMap, HashSet};

/// The numbers that are given out begin after the largest in use, if that is below this one.
const ROOM: u32 = 1 << 30;

/// The ids of processes, threads and lanes in the file that is written.
#[derive(Debug, Default)]
pub struct Numbering {
    pids: Vec<Id>,
    tids: Vec<Option<Id>>,
    lanes: HashMap<(TrackId, u32), u32>,
    used: HashSet<u32>,
    next: u32,
}

/// The id of a process or a thread.
#[derive(Clone, Copy, Debug)]
pub struct Id {
    /// Its number.
    pub number: u32,
    /// Whether the file has another id for it, or none.
    pub is_new: bool,
}

impl Numbering {
    /// For a file.
    pub fn of(ids: &Ids, slices: &SlicePlan) -> Self {
        let mut numbering = Self::default();
        let text = |id: Option<StringId>| id.map(|id| ids.text(id));
        let plain = |id: Option<StringId>| text(id).and_then(|id| number(id.as_bytes()));
        numbering.used.extend(ids.tracks.processes().filter_map(|(_, process)| plain(process.pid)));
        numbering.used.extend(ids.tracks.iter().filter_map(|(_, track)| plain(track.tid)));
        numbering.next = numbering.used.iter().copied().filter(|&id| id < ROOM).max().unwrap_or(0);
        for (_, process) in ids.tracks.processes() {
            let id = numbering.keep_or_make(plain(process.pid));
            numbering.pids.push(id);
        }
        for (track, of_track) in ids.tracks.iter() {
            let is_shown = ids.usage(track).is_shown;
            let is_process_zero = numbering.pids[of_track.process.index()].number == 0;
            let id = match (of_track.tid, plain(of_track.tid)) {
                (Some(_), Some(0)) if is_shown && !is_process_zero => Some(numbering.make()),
                (Some(_), kept) => Some(numbering.keep_or_make(kept)),
                (None, _) => is_shown.then(|| numbering.make()),
            };
            numbering.tids.push(id);
        }
        let mut tracks: Vec<(&u32, &u32)> = slices.n_lanes.iter().collect();
        tracks.sort_unstable();
        for (&track, &n_lanes) in tracks {
            for lane in 1..n_lanes {
                let id = numbering.make().number;
                numbering.lanes.insert((TrackId(track), lane), id);
            }
        }
        numbering
    }

    fn keep_or_make(&mut self, number: Option<u32>) -> Id {
        number.map_or_else(|| self.make(), |number| Id { number, is_new: false })
    }

    fn make(&mut self) -> Id {
        loop {
            self.next = (self.next + 1) % (i32::MAX as u32);
            if self.next > 0 && self.used.insert(self.next) {
                return Id { number: self.next, is_new: true };
            }
        }
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
                events.push(metadata("process_name", pid.number, None, |out| push_text_member(out, "name", name)));
            }
        }
        for (track, of_track) in ids.tracks.iter() {
            let Some(pid) = self.pid(of_track.process).map(|pid| pid.number) else {
                continue;
            };
            let old = old_id(of_track.tid, ids, "no thread");
            if let (Some(tid), None) = (self.tid(track, 0).filter(|tid| tid.is_new), of_track.name) {
                let name = |out: &mut Vec<u8>| push_text_member(out, "name", old);
                events.push(metadata("thread_name", pid, Some(tid.number), name));
            }
            let name = of_track.name.map_or(old, |name| ids.text(name));
            for lane in 1.. {
                let Some(tid) = self.tid(track, lane).map(|tid| tid.number) else {
                    break;
                };
                let lane_name = format!("{name} ({})", lane + 1);
                let push_name = |out: &mut Vec<u8>| push_text_member(out, "name", &lane_name);
                events.push(metadata("thread_name", pid, Some(tid), push_name));
                if let Some(index) = of_track.sort_index {
                    let push_index =
                        |out: &mut Vec<u8>| out.extend_from_slice(format!("\"sort_index\":{index}").as_bytes());
                    events.push(metadata("thread_sort_index", pid, Some(tid), push_index));
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

fn metadata(kind: &str, pid: u32, tid: Option<u32>, push_arg: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = b"{\"ph\":\"M\",\"name\":\"".to_vec();
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(b"\",\"pid\":");
    push_decimal(&mut out, u64::from(pid));
    if let Some(tid) = tid {
        out.extend_from_slice(b",\"tid\":");
        push_decimal(&mut out, u64::from(tid));
    }
    out.extend_from_slice(b",\"args\":{");
    push_arg(&mut out);
    out.extend_from_slice(b"}}");
    out
}

fn push_text_member(out: &mut Vec<u8>, key: &str, text: &str) {
    push_text(out, key);
    out.push(b':');
    push_text(out, text);
}
