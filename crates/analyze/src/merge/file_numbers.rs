//! Assigns numbers to the processes and threads of all files, so that no two get the same one.

use super::survey::Surveyed;
use crate::rewrite::numbering::{FreeNumbers, Id, NumberSource, Numbers};
use ferrum_trace_model::{StringId, Strings, TrackId};
use hashbrown::{HashMap, HashSet};

/// Assigns the numbers of all files. The first file that has a number keeps it. `leaders` has, for each file, the first
/// file of the same recording: these share their processes and threads.
pub(super) fn number_all(files: &[Surveyed], leaders: &[usize]) -> Vec<Numbers> {
    let mut assigned = Assigned::of(files);
    let number = |(file, &recording): (&Surveyed, &usize)| {
        let is_shown = |track: TrackId| file.is_shown.get(track.index()).copied().unwrap_or(false);
        let mut source = FileSource { assigned: &mut assigned, strings: &file.strings, recording };
        Numbers::assign(&file.tracks, &file.strings, is_shown, &mut source)
    };
    files.iter().zip(leaders).map(number).collect()
}

/// Numbers that were assigned so far.
struct Assigned {
    /// Numbers that no file uses.
    free: FreeNumbers,
    /// Numbers of processes in the merged file.
    pids: HashSet<u32>,
    /// By recording and id in it.
    of_processes: HashMap<(usize, Option<String>), u32>,
    /// Numbers of threads that could not keep their id, by the number of the process and the id in the recording.
    of_threads: HashMap<(u32, Option<String>), u32>,
}

impl Assigned {
    fn of(files: &[Surveyed]) -> Self {
        let free = FreeNumbers::beside(files.iter().map(|file| (&file.tracks, &file.strings)));
        Self { free, pids: HashSet::new(), of_processes: HashMap::new(), of_threads: HashMap::new() }
    }
}

/// Source of numbers for one file.
struct FileSource<'a> {
    assigned: &'a mut Assigned,
    strings: &'a Strings,
    recording: usize,
}

impl FileSource<'_> {
    fn text(&self, id: Option<StringId>) -> Option<String> {
        id.map(|id| self.strings.get(id).to_owned())
    }
}

impl NumberSource for FileSource<'_> {
    fn pid(&mut self, id: Option<StringId>, plain: Option<u32>) -> Id {
        let key = (self.recording, self.text(id));
        let Assigned { free, pids, of_processes, .. } = &mut *self.assigned;
        let pid = *of_processes
            .entry(key)
            .or_insert_with(|| plain.filter(|pid| !pids.contains(pid)).unwrap_or_else(|| free.take()));
        pids.insert(pid);
        if plain == Some(pid) { Id::kept(pid) } else { Id::new(pid) }
    }

    fn new_tid(&mut self, pid: u32, id: Option<StringId>) -> u32 {
        let key = (pid, self.text(id));
        let Assigned { free, of_threads, .. } = &mut *self.assigned;
        *of_threads.entry(key).or_insert_with(|| free.take())
    }
}
