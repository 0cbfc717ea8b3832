//! Finds the process and track of events, and reads the metadata about them.

use super::event::{Event, Scalar};
use super::members::for_each_member;
use ferrum_trace_model::{ProcessId, StringId, Strings, TrackId, Tracks};

/// Finds the tracks of events. It remembers the ids of the previous event, since most events are on the same track as
/// the one before.
#[derive(Debug, Default)]
pub struct RowFinder {
    pid: Vec<u8>,
    tid: Vec<u8>,
    track: Option<TrackId>,
}

impl RowFinder {
    /// Returns the track of an event, and adds it if it is new.
    #[inline]
    pub fn track(&mut self, event: &Event<'_>, strings: &mut Strings, tracks: &mut Tracks) -> TrackId {
        let [pid, tid] = [event.pid, event.tid].map(|id| id.and_then(|id| id.plain()));
        if let Some(track) = self.track
            && pid == Some(&self.pid)
            && tid == Some(&self.tid)
        {
            return track;
        }
        let [pid_text, tid_text] = [event.pid, event.tid].map(|id| id.map(|id| intern(strings, id)));
        let track = tracks.track(pid_text, tid_text);
        if let (Some(pid), Some(tid)) = (pid, tid) {
            self.pid.clear();
            self.pid.extend_from_slice(pid);
            self.tid.clear();
            self.tid.extend_from_slice(tid);
            self.track = Some(track);
        }
        track
    }

    /// Returns the process of an event, and adds it if it is new.
    pub fn process(&self, event: &Event<'_>, strings: &mut Strings, tracks: &mut Tracks) -> ProcessId {
        let pid = event.pid.map(|pid| intern(strings, pid));
        tracks.process(pid)
    }

    /// Applies a metadata event to its process or thread. Returns false for other metadata.
    pub fn describe(&mut self, event: &Event<'_>, strings: &mut Strings, tracks: &mut Tracks) -> bool {
        let kind = event.name.map(|name| name.decode()).unwrap_or_default();
        let args = event.args.unwrap_or_default();
        if kind.starts_with("process_") {
            let process = self.process(event, strings, tracks);
            let process = tracks.get_process_mut(process);
            for_each_member(args, |key, value| match (&*kind, key.raw) {
                ("process_name", b"name") => process.name = Some(intern(strings, value)),
                ("process_labels", b"labels") => process.labels = Some(intern(strings, value)),
                ("process_sort_index", b"sort_index") => process.sort_index = value.decode().parse().ok(),
                _ => {}
            });
            return true;
        }
        if !kind.starts_with("thread_") {
            return false;
        }
        let track = self.track(event, strings, tracks);
        let track = tracks.get_mut(track);
        for_each_member(args, |key, value| match (&*kind, key.raw) {
            ("thread_name", b"name") => track.name = Some(intern(strings, value)),
            ("thread_sort_index", b"sort_index") => track.sort_index = value.decode().parse().ok(),
            _ => {}
        });
        true
    }

    /// Forgets the previous event.
    pub fn clear(&mut self) {
        self.track = None;
    }
}

/// Returns the number of a scalar's content.
#[inline]
pub(crate) fn intern(strings: &mut Strings, scalar: Scalar<'_>) -> StringId {
    match scalar.plain() {
        Some(raw) => strings.intern_bytes(raw),
        None => strings.intern(&scalar.decode()),
    }
}
