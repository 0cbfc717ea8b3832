//! Ends of flows that wait for the slice they bind to.

use super::record::Record;
use ferrum_trace_model::TrackId;
use hashbrown::HashMap;

/// Maximum number of bytes that wait.
const BYTES_MAX: usize = 16 << 20;

/// Ends that bind to the slice that begins next on their track.
#[derive(Debug, Default)]
pub(super) struct WaitingFlows {
    of_tracks: HashMap<u32, Vec<WaitingFlow>>,
    n_bytes: usize,
}

/// End of a flow.
#[derive(Debug)]
pub(super) struct WaitingFlow {
    /// Its time.
    pub time: i64,
    /// The number of its flow.
    pub flow: u64,
    record: Box<[u8]>,
}

impl WaitingFlow {
    /// Returns its event.
    pub(super) fn record(&self) -> Option<Record<'_>> {
        Record::read(&self.record)
    }
}

impl WaitingFlows {
    /// Stores an end. Returns false if there is no room.
    pub(super) fn keep(&mut self, time: i64, flow: u64, record: &Record<'_>) -> bool {
        let mut bytes = Vec::new();
        record.push_to(&mut bytes);
        if self.n_bytes + bytes.len() > BYTES_MAX {
            return false;
        }
        self.n_bytes += bytes.len();
        let waiting = WaitingFlow { time, flow, record: bytes.into() };
        self.of_tracks.entry(record.row).or_default().push(waiting);
        true
    }

    /// Removes and returns the ends that wait on a track.
    pub(super) fn take(&mut self, track: TrackId) -> Vec<WaitingFlow> {
        if self.of_tracks.is_empty() {
            return Vec::new();
        }
        let taken = self.of_tracks.remove(&track.0).unwrap_or_default();
        self.n_bytes -= taken.iter().map(|waiting| waiting.record.len()).sum::<usize>();
        taken
    }

    /// Returns the number of waiting ends.
    pub(super) fn len(&self) -> u64 {
        self.of_tracks.values().map(|waiting| waiting.len() as u64).sum()
    }
}
