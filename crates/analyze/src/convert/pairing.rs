//! Pairs begins and ends to slices, in time order.

use super::hash::hash;
use super::pending_records::{PendingRecords, Stored};
use super::record::{EventKind, NEVER, Record, time_of};
use ferrum_trace_format::spill_sort::SpillSort;
use hashbrown::HashMap;
use std::io;

/// Number of unpaired events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Unpaired {
    /// Begins without an end, which become slices that never end.
    pub begins: u64,
    /// Ends without a begin, which are dropped.
    pub ends: u64,
}

/// Key of events that belong together: of a thread, all events; of async events, those with the same category, id and
/// name.
type PairKey = (EventKind, u64);

/// A begin that waits for its end.
struct Open {
    time: i64,
    order: u64,
    record: Stored,
}

/// Pairs the begins and ends in `edges`, whose keys are times, and passes a slice to `take` for each begin. An end
/// closes the latest open begin of its key, regardless of its name.
///
/// # Errors
///
/// Returns an error if a temporary file cannot be read, or if `take` fails.
pub(super) fn pair(
    edges: SpillSort,
    mut take: impl FnMut(i64, u64, &Record<'_>) -> io::Result<()>,
) -> io::Result<Unpaired> {
    let mut open: HashMap<PairKey, Vec<Open>> = HashMap::new();
    let mut unpaired = Unpaired::default();
    let mut pending = PendingRecords::default();
    let mut sorted = edges.finish()?;
    while let Some((key, bytes)) = sorted.next()? {
        let Some(edge) = Record::read(bytes) else {
            continue;
        };
        let (kind, key_of_pair) = (pair_kind(&edge), pair_key(&edge));
        if edge.kind != EventKind::End {
            let begin = Open { time: time_of(&key), order: key[3], record: pending.keep(bytes)? };
            open.entry((kind, key_of_pair)).or_default().push(begin);
            continue;
        }
        match open.get_mut(&(kind, key_of_pair)).and_then(Vec::pop) {
            Some(begin) => {
                let bytes = pending.take(begin.record)?;
                if let Some(record) = Record::read(&bytes) {
                    take(begin.time, begin.order, &Record { end: time_of(&key), end_args: edge.args, ..record })?;
                }
            }
            None => unpaired.ends += 1,
        }
        // Ids come and go; their empty lists must not accumulate.
        if kind == EventKind::AsyncSlice && open.get(&(kind, key_of_pair)).is_some_and(Vec::is_empty) {
            open.remove(&(kind, key_of_pair));
        }
    }
    // In the order of the file: the output must not depend on the order of the map.
    let mut unfinished: Vec<Open> = open.into_values().flatten().collect();
    unfinished.sort_unstable_by_key(|begin| begin.order);
    for begin in unfinished {
        unpaired.begins += 1;
        let bytes = pending.take(begin.record)?;
        if let Some(record) = Record::read(&bytes) {
            take(begin.time, begin.order, &Record { end: NEVER, ..record })?;
        }
    }
    Ok(unpaired)
}

/// Returns the kind of slice that a begin or end belongs to. An end with an id belongs to an async slice.
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
