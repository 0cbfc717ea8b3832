//! Begins and ends become slices, in the order of time.

use super::hash::hash;
use super::pending_records::{PendingRecords, Stored};
use super::record::{EventKind, NEVER, Record, time_of};
use ferrum_trace_format::spill_sort::SpillSort;
use hashbrown::HashMap;
use std::io;

/// What went unpaired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Unpaired {
    /// Begins without an end: they are slices that never end.
    pub begins: u64,
    /// Ends without a begin: they are nothing.
    pub ends: u64,
}

/// What belongs together: of a thread, everything; of what is on no thread, what has the same category, id and name.
type PairKey = (EventKind, u64);

/// A begin that waits for its end.
struct Open {
    time: i64,
    order: u64,
    record: Stored,
}

/// Pairs the begins and ends in `edges`, whose keys are times, and hands over a slice for each begin: an end closes what
/// began last of those it belongs to, whatever name it carries.
///
/// # Errors
///
/// If a temporary file cannot be read, or `take` says so.
pub(super) fn pair(
    edges: SpillSort,
    mut take: impl FnMut(i64, u64, &Record<'_>) -> io::Result<()>,
) -> io::Result<Unpaired> {
    let mut open: HashMap<PairKey, Vec<Open>> = HashMap::new();
    let mut unpaired = Unpaired::default();
    let mut held = PendingRecords::default();
    let mut sorted = edges.finish()?;
    while let Some((key, bytes)) = sorted.next()? {
        let Some(edge) = Record::read(bytes) else {
            continue;
        };
        let (kind, key_of_pair) = (pair_kind(&edge), pair_key(&edge));
        if edge.kind != EventKind::End {
            let begin = Open { time: time_of(&key), order: key[3], record: held.keep(bytes)? };
            open.entry((kind, key_of_pair)).or_default().push(begin);
            continue;
        }
        match open.get_mut(&(kind, key_of_pair)).and_then(Vec::pop) {
            Some(begin) => {
                let bytes = held.take(begin.record)?;
                if let Some(record) = Record::read(&bytes) {
                    take(begin.time, begin.order, &Record { end: time_of(&key), end_args: edge.args, ..record })?;
                }
            }
            None => unpaired.ends += 1,
        }
        // Ids come and go; what they leave behind must not pile up.
        if kind == EventKind::AsyncSlice && open.get(&(kind, key_of_pair)).is_some_and(Vec::is_empty) {
            open.remove(&(kind, key_of_pair));
        }
    }
    for begin in open.into_values().flatten() {
        unpaired.begins += 1;
        let bytes = held.take(begin.record)?;
        if let Some(record) = Record::read(&bytes) {
            take(begin.time, begin.order, &Record { end: NEVER, ..record })?;
        }
    }
    Ok(unpaired)
}

/// An end says by having an id what it is the end of.
fn pair_kind(edge: &Record<'_>) -> EventKind {
    match edge.kind {
        EventKind::End if edge.id.is_empty() => EventKind::Slice,
        EventKind::End => EventKind::AsyncSlice,
        kind => kind,
    }
}

fn pair_key(edge: &Record<'_>) -> u64 {
    match pair_kind(edge) {
        EventKind::Slice => u64::from(edge.row),
        _ => hash(&(edge.group, edge.name)),
    }
}
