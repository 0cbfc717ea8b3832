//! Renumbers the texts and tracks of a piece for the whole file, within limits.

use super::columns::Columns;
use ferrum_trace_model::{ArgValue, OTHER_NAMES, Order, ProcessId, StringId, Strings, Trace, TrackId, Tracks};

/// Maximum number of distinct names and tracks of a file, so that memory is bounded for any file.
///
/// The first names and tracks of the file are kept. Further names are replaced by [`OTHER_NAMES`], and further tracks
/// are removed with their events; [`Census::beyond`](ferrum_trace_model::Census::beyond) counts both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of distinct names, categories and counter series together.
    pub names: usize,
    /// Maximum number of tracks, and of processes.
    pub tracks: usize,
}

impl Default for Limits {
    /// 1,048,576 of each.
    fn default() -> Self {
        Self { names: 1 << 20, tracks: 1 << 20 }
    }
}

/// Marks a removed track.
const REMOVED: TrackId = TrackId(u32::MAX);

/// Assigns numbers for the whole file to the texts and tracks of pieces.
#[derive(Debug, Default)]
pub(crate) struct Renumbering {
    limits: Limits,
    /// By text: true if it is a name within the limit.
    is_name: Vec<bool>,
    n_names: usize,
    /// The number of [`OTHER_NAMES`], once it is used.
    other: Option<StringId>,
}

/// The new numbers of a piece's texts and tracks, by their old numbers.
#[derive(Debug)]
pub(crate) struct NewNumbers {
    names: Vec<StringId>,
    values: Vec<StringId>,
    tracks: Vec<TrackId>,
    n_before: Order,
}

impl Renumbering {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Assigns numbers to the texts and tracks of a piece, and copies what the piece states about processes and tracks.
    pub(crate) fn number(&mut self, trace: &mut Trace, piece: &Columns<'_>, n_before: Order) -> NewNumbers {
        let Trace { strings, tracks, .. } = trace;
        let n_texts = piece.trace.strings.len();
        let (mut names, mut values) = (vec![StringId::EMPTY; n_texts], vec![StringId::EMPTY; n_texts]);
        for ((id, text), is_used) in piece.trace.strings.iter().zip(&piece.uses) {
            if is_used.is_value {
                values[id.index()] = strings.intern(text);
            }
            if is_used.is_name {
                names[id.index()] = self.name(strings, text);
            }
        }
        let processes = self.processes(strings, tracks, &piece.trace);
        let tracks = self.tracks(strings, tracks, &piece.trace, &processes);
        NewNumbers { names, values, tracks, n_before }
    }

    /// Returns the number of names that were replaced.
    pub(crate) fn n_replaced(&self, names: &[StringId]) -> u64 {
        self.other.map_or(0, |other| names.iter().filter(|&&name| name == other).count() as u64)
    }

    fn name(&mut self, strings: &mut Strings, text: &str) -> StringId {
        if text.is_empty() {
            return StringId::EMPTY;
        }
        let is_name = |id: &StringId| self.is_name.get(id.index()).is_some_and(|&is_name| is_name);
        if let Some(name) = strings.find(text).filter(is_name) {
            return name;
        }
        if self.n_names >= self.limits.names {
            return *self.other.get_or_insert_with(|| strings.intern(OTHER_NAMES));
        }
        let name = strings.intern(text);
        self.is_name.resize(strings.len(), false);
        self.is_name[name.index()] = true;
        self.n_names += 1;
        name
    }

    /// Returns the new numbers of a piece's processes; `None` for removed ones.
    fn processes(&self, strings: &mut Strings, tracks: &mut Tracks, piece: &Trace) -> Vec<Option<ProcessId>> {
        let number = |(_, process): (ProcessId, &ferrum_trace_model::Process)| {
            let is_known = find(strings, piece, process.pid).is_some_and(|pid| tracks.find_process(pid).is_some());
            if !is_known && tracks.processes().len() >= self.limits.tracks {
                return None;
            }
            let mut text = |id: Option<StringId>| id.map(|id| strings.intern(piece.strings.get(id)));
            let id = tracks.process(text(process.pid));
            let known = tracks.get_process_mut(id);
            known.name = text(process.name).or(known.name);
            known.labels = text(process.labels).or(known.labels);
            known.sort_index = process.sort_index.or(known.sort_index);
            Some(id)
        };
        piece.tracks.processes().map(number).collect()
    }

    fn tracks(
        &self,
        strings: &mut Strings,
        tracks: &mut Tracks,
        piece: &Trace,
        processes: &[Option<ProcessId>],
    ) -> Vec<TrackId> {
        let number = |(_, track): (TrackId, &ferrum_trace_model::Track)| {
            let Some(process) = processes[track.process.index()] else { return REMOVED };
            let is_known = find(strings, piece, track.tid).is_some_and(|tid| tracks.find(process, tid).is_some());
            if !is_known && tracks.len() >= self.limits.tracks {
                return REMOVED;
            }
            let mut text = |id: Option<StringId>| id.map(|id| strings.intern(piece.strings.get(id)));
            let id = tracks.track(tracks.get_process(process).pid, text(track.tid));
            let known = tracks.get_mut(id);
            known.name = text(track.name).or(known.name);
            known.sort_index = track.sort_index.or(known.sort_index);
            id
        };
        piece.tracks.iter().map(number).collect()
    }
}

/// Returns the new number of a piece's text, if it already has one.
fn find(strings: &Strings, piece: &Trace, id: Option<StringId>) -> Option<Option<StringId>> {
    match id {
        None => Some(None),
        Some(id) => strings.find(piece.strings.get(id)).map(Some),
    }
}

impl NewNumbers {
    pub(crate) fn names(&self, all: &mut Vec<StringId>, piece: &[StringId]) {
        all.extend(piece.iter().map(|id| self.names[id.index()]));
    }

    pub(crate) fn values(&self, all: &mut Vec<StringId>, piece: &[StringId]) {
        all.extend(piece.iter().map(|id| self.values[id.index()]));
    }

    pub(crate) fn args(&self, all: &mut Vec<ArgValue>, piece: &[ArgValue]) {
        all.extend(piece.iter().map(|&value| match value {
            ArgValue::Text(id) => ArgValue::Text(self.values[id.index()]),
            integer @ ArgValue::Integer(_) => integer,
        }));
    }

    pub(crate) fn tracks(&self, all: &mut Vec<TrackId>, piece: &[TrackId]) {
        all.extend(piece.iter().map(|id| self.tracks[id.index()]));
    }

    pub(crate) fn orders(&self, all: &mut Vec<Order>, piece: &[Order]) {
        all.extend(piece.iter().map(|order| order + self.n_before));
    }

    /// Removes the events of removed tracks. Returns the number of these events.
    pub(crate) fn remove_events(&self, piece: &mut Columns<'_>) -> u64 {
        if !self.tracks.contains(&REMOVED) {
            return 0;
        }
        let is_wanted = |track: TrackId| self.tracks[track.index()] != REMOVED;
        let Columns { trace: Trace { slices, instants, flows, asyncs, counters, .. }, begin_ends, .. } = piece;
        slices.retain_tracks(is_wanted)
            + instants.retain_tracks(is_wanted)
            + flows.retain_tracks(is_wanted)
            + asyncs.retain_tracks(is_wanted)
            + counters.retain_tracks(is_wanted)
            + begin_ends.retain_tracks(is_wanted)
    }
}
