//! Numbers for the processes and threads of all files, so that none is taken for another.

use super::survey::Surveyed;
use crate::check::ids::number;
use ferrum_trace_model::{ProcessId, StringId, TrackId};
use hashbrown::{HashMap, HashSet};

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

/// Numbers for all files. The first that has a number keeps it. `leaders` says which files are of one recording: their
/// processes and threads are the same.
pub fn number_all(files: &[Surveyed], leaders: &[usize]) -> Vec<Numbers> {
    let mut given = Given::of(files);
    files.iter().zip(leaders).map(|(file, &leader)| given.number(file, leader)).collect()
}

#[derive(Default)]
struct Given {
    /// Numbers that some file has for something.
    used: HashSet<u32>,
    /// Numbers of processes in the merged file.
    pids: HashSet<u32>,
    /// By recording and id in it.
    of_processes: HashMap<(usize, Option<String>), u32>,
    /// Numbers that were made for threads, by the number of the process and the id in the recording.
    of_threads: HashMap<(u32, Option<String>), u32>,
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

    fn number(&mut self, file: &Surveyed, leader: usize) -> Numbers {
        let text = |id: Option<StringId>| id.map(|id| file.strings.get(id).to_owned());
        let plain = |id: Option<StringId>| id.and_then(|id| number(file.strings.get(id).as_bytes()));
        let mut numbers = Numbers::default();
        for (_, process) in file.tracks.processes() {
            let key = (leader, text(process.pid));
            let pid = self.of_processes.get(&key).copied().unwrap_or_else(|| {
                let kept = plain(process.pid).filter(|pid| !self.pids.contains(pid));
                kept.unwrap_or_else(|| self.make())
            });
            self.of_processes.insert(key, pid);
            self.pids.insert(pid);
            numbers.pids.push(pid);
        }
        for (id, track) in file.tracks.iter() {
            let is_shown = file.is_shown.get(id.index()).copied().unwrap_or(false);
            let pid = numbers.pid(track.process).unwrap_or_default();
            let mut make = || self.make_thread(pid, text(track.tid));
            let tid = match (track.tid, plain(track.tid)) {
                // Viewers take thread 0 for the idle one.
                (Some(_), Some(0)) if is_shown && pid != 0 => Some(make()),
                (Some(_), kept) => Some(kept.unwrap_or_else(make)),
                (None, _) => is_shown.then(make),
            };
            numbers.tids.push(tid);
        }
        numbers
    }

    fn make_thread(&mut self, pid: u32, tid: Option<String>) -> u32 {
        let key = (pid, tid);
        let made = self.of_threads.get(&key).copied().unwrap_or_else(|| self.make());
        self.of_threads.insert(key, made);
        made
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
