//! Processes and their tracks.

use crate::{StringId, Strings};
use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use std::hash::BuildHasher;

/// The number of a track in [`Tracks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrackId(pub u32);

/// The number of a process in [`Tracks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId(pub u32);

impl TrackId {
    /// Returns the index for arrays with one entry per track.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl ProcessId {
    /// Returns the index for arrays with one entry per process.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A process, or a device or group of tracks that a file presents as a process.
#[derive(Clone, Debug, Default)]
pub struct Process {
    /// Id as text, so that 7 and "7" are the same. `None` if the events have no `pid`.
    pub pid: Option<StringId>,
    /// Name from the metadata.
    pub name: Option<StringId>,
    /// Labels from the metadata.
    pub labels: Option<StringId>,
    /// Sort index from the metadata.
    pub sort_index: Option<i64>,
}

/// A track: a thread, a device stream or a lane.
#[derive(Clone, Debug)]
pub struct Track {
    /// The process it belongs to.
    pub process: ProcessId,
    /// Id as text. `None` if the events have no `tid`.
    pub tid: Option<StringId>,
    /// Name from the metadata.
    pub name: Option<StringId>,
    /// Sort index from the metadata.
    pub sort_index: Option<i64>,
}

impl Track {
    fn key(&self) -> (ProcessId, Option<StringId>) {
        (self.process, self.tid)
    }
}

/// The processes and tracks of a trace, numbered in the order of their first occurrence.
#[derive(Clone, Debug, Default)]
pub struct Tracks {
    processes: Vec<Process>,
    tracks: Vec<Track>,
    process_ids: HashMap<Option<StringId>, ProcessId>,
    /// Numbers of the tracks by process and id. Keeping only the numbers takes a third of the memory of a map.
    track_ids: HashTable<TrackId>,
    hasher: DefaultHashBuilder,
}

impl Tracks {
    /// Removes all processes and tracks; keeps the memory.
    pub fn clear(&mut self) {
        self.processes.clear();
        self.tracks.clear();
        self.process_ids.clear();
        self.track_ids.clear();
    }

    /// Returns the process with this id, and adds it if it is new.
    pub fn process(&mut self, pid: Option<StringId>) -> ProcessId {
        let Self { processes, process_ids, .. } = self;
        *process_ids.entry(pid).or_insert_with(|| {
            processes.push(Process { pid, ..Process::default() });
            ProcessId(processes.len() as u32 - 1)
        })
    }

    /// Returns the track with these ids, and adds it if it is new.
    pub fn track(&mut self, pid: Option<StringId>, tid: Option<StringId>) -> TrackId {
        let process = self.process(pid);
        if let Some(known) = self.find(process, tid) {
            return known;
        }
        let Self { tracks, track_ids, hasher, .. } = self;
        let new = TrackId(tracks.len() as u32);
        tracks.push(Track { process, tid, name: None, sort_index: None });
        let hash = |track: &TrackId| hasher.hash_one(tracks[track.index()].key());
        track_ids.insert_unique(hash(&new), new, hash);
        new
    }

    /// Returns the process with this id, if there is one.
    pub fn find_process(&self, pid: Option<StringId>) -> Option<ProcessId> {
        self.process_ids.get(&pid).copied()
    }

    /// Returns the track with this id in a process, if there is one.
    pub fn find(&self, process: ProcessId, tid: Option<StringId>) -> Option<TrackId> {
        let key = (process, tid);
        let is_it = |track: &TrackId| self.tracks[track.index()].key() == key;
        self.track_ids.find(self.hasher.hash_one(key), is_it).copied()
    }

    /// Returns a process.
    pub fn get_process(&self, id: ProcessId) -> &Process {
        &self.processes[id.index()]
    }

    /// Returns a process for modification.
    pub fn get_process_mut(&mut self, id: ProcessId) -> &mut Process {
        &mut self.processes[id.index()]
    }

    /// Returns a track.
    pub fn get(&self, id: TrackId) -> &Track {
        &self.tracks[id.index()]
    }

    /// Returns a track for modification.
    pub fn get_mut(&mut self, id: TrackId) -> &mut Track {
        &mut self.tracks[id.index()]
    }

    /// Returns all tracks in the order of their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (TrackId, &Track)> {
        self.tracks.iter().enumerate().map(|(n, track)| (TrackId(n as u32), track))
    }

    /// Returns all processes in the order of their numbers.
    pub fn processes(&self) -> impl ExactSizeIterator<Item = (ProcessId, &Process)> {
        self.processes.iter().enumerate().map(|(n, process)| (ProcessId(n as u32), process))
    }

    /// Returns the number of tracks.
    pub fn len(&self) -> usize {
        self.tracks.len()
    }

    /// Returns true if there are no tracks.
    pub fn is_empty(&self) -> bool {
        self.tracks.is_empty()
    }

    /// Returns the display name of a process: name and id, as far as known. An id that is part of the name is not
    /// repeated.
    pub fn process_label(&self, id: ProcessId, strings: &Strings) -> String {
        let process = self.get_process(id);
        let text = |id: Option<StringId>| id.map(|id| strings.get(id));
        label("process", text(process.name), text(process.pid))
    }

    /// Returns the display name of a track: name and id, as far as known. An id that is part of the name is not
    /// repeated.
    pub fn label(&self, id: TrackId, strings: &Strings) -> String {
        let track = self.get(id);
        let text = |id: Option<StringId>| id.map(|id| strings.get(id));
        label("thread", text(track.name), text(track.tid))
    }
}

fn label(kind: &str, name: Option<&str>, id: Option<&str>) -> String {
    let name = name.map(str::trim).filter(|name| !name.is_empty());
    match (name, id) {
        (Some(name), Some(id)) if !contains_word(name, id) => format!("{name} ({id})"),
        (Some(name), _) => name.to_owned(),
        (None, Some(id)) => format!("{kind} {id}"),
        (None, None) => format!("no {kind}"),
    }
}

/// Returns true if `text` contains `word` with no letter or digit before or after it.
fn contains_word(text: &str, word: &str) -> bool {
    let is_apart = |char: Option<char>| char.is_none_or(|char| !char.is_alphanumeric());
    !word.is_empty()
        && text
            .match_indices(word)
            .any(|(at, _)| is_apart(text[..at].chars().next_back()) && is_apart(text[at + word.len()..].chars().next()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_ids_are_the_same_track() {
        let (mut strings, mut tracks) = (Strings::default(), Tracks::default());
        let [one, seven] = ["1", "7"].map(|id| Some(strings.intern(id)));
        let first = tracks.track(one, seven);
        let second = tracks.track(seven, seven);
        assert_eq!(tracks.track(one, seven), first);
        assert_ne!(first, second);
        assert_ne!(tracks.track(one, None), first);
        assert_eq!((tracks.processes().len(), tracks.len()), (2, 3));
        tracks.get_mut(first).name = Some(strings.intern("worker"));
        assert_eq!(tracks.label(first, &strings), "worker (7)");
        assert_eq!(tracks.label(second, &strings), "thread 7");
        assert_eq!(tracks.process_label(ProcessId(0), &strings), "process 1");
    }

    #[test]
    fn labels_do_not_repeat_the_id() {
        let labelled = |name: Option<&str>, tid: &str| {
            let (mut strings, mut tracks) = (Strings::default(), Tracks::default());
            let tid = Some(strings.intern(tid));
            let track = tracks.track(tid, tid);
            let name = name.map(|name| strings.intern(name));
            tracks.get_mut(track).name = name;
            tracks.get_process_mut(ProcessId(0)).name = name;
            [tracks.label(track, &strings), tracks.process_label(ProcessId(0), &strings)]
        };
        assert_eq!(labelled(Some("thread 5555 (python)"), "5555"), ["thread 5555 (python)"; 2]);
        assert_eq!(labelled(Some("stream 7 "), "7"), ["stream 7"; 2]);
        assert_eq!(labelled(Some("stream 17"), "7"), ["stream 17 (7)"; 2]);
        assert_eq!(labelled(Some(" "), "-3"), ["thread -3", "process -3"]);
        assert_eq!(labelled(None, "stream 7"), ["thread stream 7", "process stream 7"]);
    }
}
