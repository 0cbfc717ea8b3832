//! Descriptors of processes, threads and other tracks.

use super::text::PushText;
use crate::perfetto::field::{counter, process, thread, track};
use crate::perfetto::wire::Push;

/// A process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Process<'a> {
    /// Process id.
    pub pid: i32,
    /// Its name; empty if it has none.
    pub name: &'a str,
    /// A label; empty if there is none.
    pub label: &'a str,
    /// Position among the processes.
    pub sort_index: Option<i32>,
    /// True if its threads have a sort index.
    pub orders_children: bool,
}

/// A thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Thread<'a> {
    /// The track of its process.
    pub process_track: u64,
    /// Process id.
    pub pid: i32,
    /// Thread id.
    pub tid: i64,
    /// Its name; empty if it has none.
    pub name: &'a str,
    /// Position among the threads of the process.
    pub sort_index: Option<i32>,
}

/// A track that is neither a process nor a thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Track<'a> {
    /// The parent track: a process, a thread or another track; zero for none.
    pub parent: u64,
    /// Its name.
    pub name: &'a str,
    /// Position among its siblings.
    pub rank: Option<i32>,
    /// True for a counter track.
    pub is_counter: bool,
}

/// Returns a negative number as the bits of its two's complement.
fn signed(number: impl Into<i64>) -> u64 {
    number.into() as u64
}

/// Writes the `TrackDescriptor` of a process.
pub(crate) fn of_process(out: &mut Vec<u8>, uuid: u64, it: &Process<'_>) {
    out.push_number(track::UUID, uuid);
    let place = out.open_bytes(track::PROCESS);
    out.push_number(process::PID, signed(it.pid));
    push_unless_empty(out, process::NAME, it.name);
    push_unless_empty(out, process::LABELS, it.label);
    if let Some(index) = it.sort_index {
        out.push_number(process::LEGACY_SORT_INDEX, signed(index));
    }
    out.close_bytes(place);
    push_rank(out, it.sort_index);
    if it.orders_children {
        out.push_number(track::CHILD_ORDERING, track::EXPLICIT_ORDERING);
    }
}

/// Writes the `TrackDescriptor` of a thread.
pub(crate) fn of_thread(out: &mut Vec<u8>, uuid: u64, it: &Thread<'_>) {
    out.push_number(track::UUID, uuid);
    out.push_number(track::PARENT_UUID, it.process_track);
    let place = out.open_bytes(track::THREAD);
    out.push_number(thread::PID, signed(it.pid));
    out.push_number(thread::TID, signed(it.tid));
    push_unless_empty(out, thread::NAME, it.name);
    if let Some(index) = it.sort_index {
        out.push_number(thread::LEGACY_SORT_INDEX, signed(index));
    }
    out.close_bytes(place);
    push_rank(out, it.sort_index);
}

/// Writes the `TrackDescriptor` of another track.
pub(crate) fn of_track(out: &mut Vec<u8>, uuid: u64, it: &Track<'_>) {
    out.push_number(track::UUID, uuid);
    if it.parent != 0 {
        out.push_number(track::PARENT_UUID, it.parent);
    }
    out.push_text(track::NAME, it.name);
    if it.is_counter {
        let place = out.open_bytes(track::COUNTER);
        // 1 is the default; it keeps the message non-empty.
        out.push_number(counter::UNIT_MULTIPLIER, 1);
        out.close_bytes(place);
    }
    push_rank(out, it.rank);
}

fn push_unless_empty(out: &mut Vec<u8>, field: u32, text: &str) {
    if !text.is_empty() {
        out.push_text(field, text);
    }
}

fn push_rank(out: &mut Vec<u8>, rank: Option<i32>) {
    if let Some(rank) = rank {
        out.push_number(track::SIBLING_ORDER_RANK, signed(rank));
    }
}
