//! Tracks, and the process and thread that each is shown as.

use crate::perfetto::field::{counter, process, thread, track};
use crate::perfetto::wire::{Broken, Fields};
use std::collections::HashMap;

/// Maximum number of tracks. Events of further tracks share one row.
const TRACKS_MAX: usize = 1 << 19;
/// Maximum number of ancestors that are searched for the process of a track.
const PARENTS_MAX: usize = 32;
/// First number of rows that are not threads: above all thread ids in use, and below 2^31, the limit of viewers.
const FIRST_ROW: i64 = 0x7800_0000;

/// The process and thread of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ThreadId {
    pub pid: i64,
    pub tid: i64,
}

/// The kind of a track.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TrackKind {
    #[default]
    Other,
    Process {
        pid: i64,
    },
    Thread(ThreadId),
}

/// A `TrackDescriptor`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Track {
    pub parent: u64,
    pub kind: TrackKind,
    pub name: String,
    pub label: String,
    pub sort_index: Option<i64>,
    pub counter: Option<Counter>,
    /// The row of the track, once it has been used.
    row: Option<ThreadId>,
}

/// A `CounterDescriptor`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counter {
    pub multiplier: i64,
    pub is_incremental: bool,
}

/// The row of an event.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub thread: ThreadId,
    /// The name of the row, if it is not a thread and is new.
    pub new_name: Option<String>,
    pub scope: Scope,
}

/// The owner of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Thread,
    Process,
    Global,
}

/// All tracks.
#[derive(Debug, Default)]
pub(crate) struct Tracks {
    tracks: HashMap<u64, Track>,
    n_rows: i64,
    /// The row of events without a track.
    nowhere: Option<ThreadId>,
}

impl Tracks {
    pub(crate) fn get(&self, uuid: u64) -> Option<&Track> {
        self.tracks.get(&uuid)
    }

    /// Applies a descriptor; fields that it omits stay unchanged.
    pub(crate) fn describe(&mut self, uuid: u64, described: &Track) {
        if self.tracks.len() >= TRACKS_MAX && !self.tracks.contains_key(&uuid) {
            return;
        }
        let it = self.tracks.entry(uuid).or_default();
        if described.parent != 0 && described.parent != uuid {
            it.parent = described.parent;
        }
        if described.kind != TrackKind::Other {
            it.kind = described.kind;
        }
        if !described.name.is_empty() {
            it.name.clone_from(&described.name);
        }
        it.counter = described.counter.or(it.counter);
    }

    /// Returns the process of a track.
    pub(crate) fn pid(&self, uuid: u64) -> Option<i64> {
        let mut uuid = uuid;
        for _ in 0..PARENTS_MAX {
            let it = self.tracks.get(&uuid)?;
            match it.kind {
                TrackKind::Process { pid } => return Some(pid),
                TrackKind::Thread(thread) => return Some(thread.pid),
                TrackKind::Other => uuid = it.parent,
            }
        }
        None
    }

    /// Returns the row of a track; a thread is its own row.
    pub(crate) fn row(&mut self, uuid: u64) -> Row {
        let pid = self.pid(uuid);
        let Some(it) = self.tracks.get_mut(&uuid) else {
            return self.nowhere();
        };
        let scope = match it.kind {
            TrackKind::Thread(thread) => return Row { thread, new_name: None, scope: Scope::Thread },
            TrackKind::Process { .. } => Scope::Process,
            TrackKind::Other if pid.is_none() && it.parent == 0 => Scope::Global,
            TrackKind::Other => Scope::Thread,
        };
        if let Some(thread) = it.row {
            return Row { thread, new_name: None, scope };
        }
        let thread = ThreadId { pid: pid.unwrap_or(0), tid: FIRST_ROW + self.n_rows };
        self.n_rows += 1;
        it.row = Some(thread);
        let name = if scope == Scope::Process { "process".to_owned() } else { it.name.clone() };
        Row { thread, new_name: Some(name), scope }
    }

    fn nowhere(&mut self) -> Row {
        if let Some(thread) = self.nowhere {
            return Row { thread, new_name: None, scope: Scope::Global };
        }
        let thread = ThreadId { pid: 0, tid: FIRST_ROW + self.n_rows };
        self.n_rows += 1;
        self.nowhere = Some(thread);
        Row { thread, new_name: Some("no track".to_owned()), scope: Scope::Global }
    }
}

/// Reads a `TrackDescriptor` and returns it with the number of the track.
pub(crate) fn read_track(data: &[u8]) -> Result<(u64, Track), Broken> {
    let (mut uuid, mut it) = (0, Track::default());
    let mut fields = Fields::new(data);
    while let Some((field, payload)) = fields.next()? {
        match field {
            track::UUID => uuid = payload.number(),
            track::PARENT_UUID => it.parent = payload.number(),
            track::NAME | track::STATIC_NAME | track::ATRACE_NAME => it.name = text(payload.bytes()),
            track::PROCESS => read_process(payload.bytes(), &mut it)?,
            track::THREAD => {
                read_thread(payload.bytes(), &mut it)?;
            }
            track::COUNTER => it.counter = Some(read_counter(payload.bytes())?),
            _ => {}
        }
    }
    Ok((uuid, it))
}

/// Reads a `ProcessDescriptor`.
pub(crate) fn read_process(data: &[u8], it: &mut Track) -> Result<(), Broken> {
    let mut pid = 0;
    let mut fields = Fields::new(data);
    while let Some((field, payload)) = fields.next()? {
        match field {
            process::PID => pid = payload.number() as i64,
            process::NAME => it.name = text(payload.bytes()),
            process::LABELS => it.label = text(payload.bytes()),
            process::LEGACY_SORT_INDEX => it.sort_index = Some(payload.number() as i64),
            _ => {}
        }
    }
    it.kind = TrackKind::Process { pid };
    Ok(())
}

/// Reads a `ThreadDescriptor`; returns the reference time of old producers in microseconds.
pub(crate) fn read_thread(data: &[u8], it: &mut Track) -> Result<Option<i64>, Broken> {
    let (mut id, mut reference_us) = (ThreadId::default(), None);
    let mut fields = Fields::new(data);
    while let Some((field, payload)) = fields.next()? {
        match field {
            thread::PID => id.pid = payload.number() as i64,
            thread::TID => id.tid = payload.number() as i64,
            thread::NAME => it.name = text(payload.bytes()),
            thread::LEGACY_SORT_INDEX => it.sort_index = Some(payload.number() as i64),
            thread::REFERENCE_TIMESTAMP_US => reference_us = Some(payload.number() as i64),
            _ => {}
        }
    }
    it.kind = TrackKind::Thread(id);
    Ok(reference_us)
}

fn read_counter(data: &[u8]) -> Result<Counter, Broken> {
    let mut it = Counter { multiplier: 1, is_incremental: false };
    let mut fields = Fields::new(data);
    while let Some((field, payload)) = fields.next()? {
        match field {
            counter::UNIT_MULTIPLIER => it.multiplier = payload.number() as i64,
            counter::IS_INCREMENTAL => it.is_incremental = payload.number() != 0,
            _ => {}
        }
    }
    Ok(it)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
