//! Hand-overs: events that pass from one process to another with a shared id. They cannot arrive before they were sent.

use crate::check::events::flow_number;
use ferrum_trace_format::chrome::read::{Event, Scalar, for_each_member};
use ferrum_trace_format::spill_sort::SpillSort;
use ferrum_trace_format::spool::record::{FLOW, SHARED_FLOW};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;

/// Memory budget of the sorter.
const BUDGET_BYTES: usize = 8 << 20;

/// Sends and arrivals of all inputs.
#[derive(Debug)]
pub(super) struct HandOvers {
    sort: SpillSort,
    failure: Option<io::Error>,
}

/// Hand-over from one file to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HandOver {
    /// Index of the input, and the time of sending by its clock.
    pub sent: (u32, i64),
    /// Index of the input, and the time of arrival by its clock.
    pub arrived: (u32, i64),
}

impl Default for HandOvers {
    fn default() -> Self {
        Self { sort: SpillSort::new(BUDGET_BYTES), failure: None }
    }
}

impl HandOvers {
    /// Adds an event of a flow, or an async event.
    pub(super) fn look(&mut self, event: &Event<'_>, file: u32) {
        let is_sent = match event.phase {
            b's' | b'b' => true,
            b't' | b'f' | b'e' => false,
            _ => return,
        };
        let (Some(time), Some(id)) = (event.start.nanos(), shared_id(event)) else {
            return;
        };
        let key = [id, u64::from(!is_sent), u64::from(file), time as u64];
        let pushed = self.sort.push(key, &[]);
        self.failure = self.failure.take().or(pushed.err());
    }

    /// Visits all hand-overs between files. An id that was sent twice is ambiguous and skipped.
    pub(super) fn for_each(self, mut look: impl FnMut(HandOver)) -> io::Result<()> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let mut sorted = self.sort.finish()?;
        let (mut of, mut sent) = (None, Vec::new());
        while let Some(([id, is_arrival, file, time], _)) = sorted.next()? {
            if of != Some(id) {
                (of, sent) = (Some(id), Vec::new());
            }
            let place = (file as u32, time as i64);
            match (is_arrival, &sent[..]) {
                // Two are as ambiguous as many.
                (0, known) if known.len() < 2 => sent.push(place),
                (1, [one]) if one.0 != place.0 => look(HandOver { sent: *one, arrived: place }),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Returns the id of a flow that our recorder has written.
pub(super) fn our_flow(event: &Event<'_>) -> Option<u64> {
    let is_ours = |text: Option<Scalar<'_>>| text.is_some_and(|text| text.plain() == Some(FLOW.as_bytes()));
    if !is_ours(event.name) || !is_ours(event.category) {
        return None;
    }
    u64::try_from(flow_number(event.id?)?).ok()
}

/// Returns the number that joins events of several processes.
fn shared_id(event: &Event<'_>) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    if matches!(event.phase, b's' | b't' | b'f') {
        let id = our_flow(event).filter(|id| id & SHARED_FLOW != 0)?;
        (b's', id).hash(&mut hasher);
        return Some(hasher.finish());
    }
    let mut global = None;
    for_each_member(event.id2?, |key, value| {
        if key.raw == b"global" {
            global = Some(value.decode());
        }
    });
    let category = event.category.map(|category| category.decode()).unwrap_or_default();
    (b'b', category, global?).hash(&mut hasher);
    Some(hasher.finish())
}
