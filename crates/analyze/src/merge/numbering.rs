//! Numbers for the processes and threads of all files, so that none is taken for another.

use super::survey::Surveyed;
use crate::check::ids::number;
use ferrum_trace_model::{ProcessId, StringId, TrackId};
use hashbrown::HashSet;

/// The numbers that are given out begin after the largest in use, if that is below this one.
const ROOM: u32 = 1 << 30;

/// The numbers of one file.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    /// By process.
    pids: Vec<u32>,
    /// By track; `None` if nothing is shown on it, and it has none.
    tids: Vec<Option<u32>>,
}

impl Numbers {
    /// The number of a process.
    pub fn pid(&self, process: ProcessId) -> Option<u32> {
        self.pids.get(process.index()).copied()
    }

    /// The number of a thread.
    pub fn tid(&self, track: TrackId) -> Option<u32> {
        self.tids.get(track.index()).copied().flatten()
    }
}

/// Numbers for all files. The first that has a number keeps it.
pub fn number_all(files: &[Surveyed]) -> Vec<Numbers> {
    let mut given = Given::of(files);
    files.iter().map(|file| given.number(file)).collect()
}

#[derive(Default)]
struct Given {
    /// Numbers that some file has for something.
    used: HashSet<u32>,
    /// Numbers of processes in the merged file.
    pids: HashSet<u32>,
    next: u32,
}

impl Given {
    fn of(files: &[Surveyed]) -> Self {
        let mut given = Self::default();
        for file in files {
            let plain = |id: Option<StringId>| id.and_then(|id| number(file.strings.get(id).as_bytes()));
            given.used.extend(file.tracks.processes().filter_map(|(_, process)| plain(process.pid)));
            given.used.extend(file.tracks.iter().filter_map(|(_, track)| plain(track.tid)));
        }
        given.next = given.used.iter().copied().filter(|&id| id < ROOM).max().unwrap_or(0);
        given
    }

    fn number(&mut self, file: &Surveyed) -> Numbers {
        let plain = |id: Option<StringId>| id.and_then(|id| number(file.strings.get(id).as_bytes()));
        let mut numbers = Numbers::default();
        for (_, process) in file.tracks.processes() {
            let kept = plain(process.pid).filter(|pid| !self.pids.contains(pid));
            let pid = kept.unwrap_or_else(|| self.make());
            self.pids.insert(pid);
            numbers.pids.push(pid);
        }
        for (id, track) in file.tracks.iter() {
            let is_shown = file.is_shown.get(id.index()).copied().unwrap_or(false);
            let is_process_zero = numbers.pid(track.process) == Some(0);
            let tid = match (track.tid, plain(track.tid)) {
                // Viewers take thread 0 for the idle one.
                (Some(_), Some(0)) if is_shown && !is_process_zero => Some(self.make()),
                (Some(_), kept) => Some(kept.unwrap_or_else(|| self.make())),
                (None, _) => is_shown.then(|| self.make()),
            };
            numbers.tids.push(tid);
        }
        numbers
    }

    fn make(&mut self) -> u32 {
        loop {
            self.next = (self.next + 1) % (i32::MAX as u32);
            if self.next > 0 && self.used.insert(self.next) {
                return self.next;
            }
        }
    }
}
