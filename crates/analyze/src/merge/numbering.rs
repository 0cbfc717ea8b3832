//! Numbers for the processes and threads of all files, so that none is taken for another.

use super::survey::Surveyed;
use crate::rewrite::free_numbers::{FreeNumbers, ThreadNumber, plain_number};
use ferrum_trace_model::{ProcessId, StringId, TrackId};
use hashbrown::{HashMap, HashSet};

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

struct Given {
    /// Numbers that no file has for anything.
    free: FreeNumbers,
    /// Numbers of processes in the merged file.
    pids: HashSet<u32>,
    /// By recording and id in it.
    of_processes: HashMap<(usize, Option<String>), u32>,
    /// Numbers that were made for threads, by the number of the process and the id in the recording.
    of_threads: HashMap<(u32, Option<String>), u32>,
}

impl Given {
    fn of(files: &[Surveyed]) -> Self {
        let free = FreeNumbers::beside(files.iter().map(|file| (&file.tracks, &file.strings)));
        Self { free, pids: HashSet::new(), of_processes: HashMap::new(), of_threads: HashMap::new() }
    }

    fn number(&mut self, file: &Surveyed, leader: usize) -> Numbers {
        let text = |id: Option<StringId>| id.map(|id| file.strings.get(id).to_owned());
        let mut numbers = Numbers::default();
        for (_, process) in file.tracks.processes() {
            let key = (leader, text(process.pid));
            let pid = self.of_processes.get(&key).copied().unwrap_or_else(|| {
                let kept = plain_number(process.pid, &file.strings).filter(|pid| !self.pids.contains(pid));
                kept.unwrap_or_else(|| self.free.take())
            });
            self.of_processes.insert(key, pid);
            self.pids.insert(pid);
            numbers.pids.push(pid);
        }
        for (id, track) in file.tracks.iter() {
            let is_shown = file.is_shown.get(id.index()).copied().unwrap_or(false);
            let pid = numbers.pid(track.process).unwrap_or_default();
            numbers.tids.push(match ThreadNumber::of(track.tid, &file.strings, is_shown, pid) {
                ThreadNumber::Kept(tid) => Some(tid),
                ThreadNumber::New => Some(self.make_thread(pid, text(track.tid))),
                ThreadNumber::Nothing => None,
            });
        }
        numbers
    }

    fn make_thread(&mut self, pid: u32, tid: Option<String>) -> u32 {
        *self.of_threads.entry((pid, tid)).or_insert_with(|| self.free.take())
    }
}
