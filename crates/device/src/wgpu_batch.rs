//! Slots whose results are resolved and read together.

use crate::launch::{Done, Launch};
use ferrum_trace::Timestamp;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use wgpu::{Buffer, BufferAsyncError, BufferDescriptor, BufferUsages, CommandEncoder, Device, MapMode, QuerySet};

/// Slots of a batch. An encoder takes whole batches, so large batches would waste slots of small encoders.
pub(crate) const BATCH_SLOTS: u32 = 32;
/// The value of a query that was not written. It is not a valid time.
const NOT_WRITTEN: u64 = 0;
const QUERY_BYTES: u64 = wgpu::QUERY_SIZE as u64;

/// A query set, two queries per slot, and the buffers for its results.
pub(crate) struct Batch {
    /// Number of this use of the batch, so that an end finds its begin.
    pub id: u64,
    pub queries: QuerySet,
    resolved: Buffer,
    readback: Buffer,
    slots: Vec<Slot>,
    /// Values of the previous read. A query that was not written since then still has its value.
    last_ticks: Vec<u64>,
    arrival: Arc<Arrival>,
}

struct Slot {
    launch: Launch,
    is_open: bool,
}

impl Batch {
    pub(crate) fn new(device: &Device) -> Self {
        let queries = timestamp_queries(device, 2 * BATCH_SLOTS);
        let (resolved, readback) = result_buffers(device, 2 * BATCH_SLOTS);
        let slots = Vec::with_capacity(BATCH_SLOTS as usize);
        Self { id: 0, queries, resolved, readback, slots, last_ticks: Vec::new(), arrival: Arc::default() }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.slots.len() >= BATCH_SLOTS as usize
    }

    pub(crate) fn n_slots(&self) -> u64 {
        self.slots.len() as u64
    }

    /// Takes the next slot and returns its number. `is_open`: the end is written separately and closes the slot.
    pub(crate) fn take(&mut self, launch: Launch, is_open: bool) -> u32 {
        self.slots.push(Slot { launch, is_open });
        self.slots.len() as u32 - 1
    }

    /// Closes a slot. Returns false if it was closed already.
    pub(crate) fn close(&mut self, slot: u32) -> bool {
        self.slots.get_mut(slot as usize).is_some_and(|slot| std::mem::take(&mut slot.is_open))
    }

    /// Ends open slots, and copies all results to the host after the encoder's commands have run.
    pub(crate) fn send(&mut self, encoder: &mut CommandEncoder) {
        for slot in 0..self.slots.len() as u32 {
            if self.close(slot) {
                encoder.write_timestamp(&self.queries, 2 * slot + 1);
            }
        }
        let n_queries = 2 * self.slots.len() as u32;
        let n_bytes = u64::from(n_queries) * QUERY_BYTES;
        encoder.resolve_query_set(&self.queries, 0..n_queries, &self.resolved, 0);
        encoder.copy_buffer_to_buffer(&self.resolved, 0, &self.readback, 0, n_bytes);
        let notice = Arrival::expected(&self.arrival);
        encoder.map_buffer_on_submit(&self.readback, MapMode::Read, ..n_bytes, move |outcome| notice.tell(outcome));
    }

    pub(crate) fn state(&self) -> State {
        self.arrival.state()
    }

    /// Reads the results, and leaves the batch empty.
    pub(crate) fn receive(
        &mut self,
        to_nanos: impl Fn(u64) -> u64,
        done: &mut Vec<Done>,
    ) -> Result<(), wgpu::MapRangeError> {
        let n_bytes = 2 * self.n_slots() * QUERY_BYTES;
        let noticed = self.arrival.noticed();
        let ticks = read_ticks(&self.readback, n_bytes)?;
        for (n, (slot, times)) in self.slots.drain(..).zip(ticks.chunks_exact(2)).enumerate() {
            let is_stale = self.last_ticks.get(2 * n) == Some(&times[0]);
            let begin = if is_stale { NOT_WRITTEN } else { to_nanos(times[0]) };
            done.push(Done { launch: slot.launch, begin, end: to_nanos(times[1]), noticed });
        }
        // Values of the other slots stay.
        self.last_ticks.resize(self.last_ticks.len().max(ticks.len()), NOT_WRITTEN);
        self.last_ticks[..ticks.len()].copy_from_slice(&ticks);
        Ok(())
    }

    /// Leaves the batch empty without results. Returns the number of slots that were in use.
    pub(crate) fn give_up(&mut self) -> u64 {
        let n_slots = self.n_slots();
        self.slots.clear();
        n_slots
    }
}

pub(crate) fn timestamp_queries(device: &Device, count: u32) -> QuerySet {
    device.create_query_set(&wgpu::QuerySetDescriptor {
        label: Some("ferrum-trace"),
        ty: wgpu::QueryType::Timestamp,
        count,
    })
}

/// The buffer that queries are resolved to, and the buffer that the host reads.
pub(crate) fn result_buffers(device: &Device, n_queries: u32) -> (Buffer, Buffer) {
    let buffer = |usage| {
        let size = u64::from(n_queries) * QUERY_BYTES;
        device.create_buffer(&BufferDescriptor { label: Some("ferrum-trace"), size, usage, mapped_at_creation: false })
    };
    (
        buffer(BufferUsages::QUERY_RESOLVE | BufferUsages::COPY_SRC),
        buffer(BufferUsages::COPY_DST | BufferUsages::MAP_READ),
    )
}

/// Reads a mapped buffer and unmaps it.
pub(crate) fn read_ticks(buffer: &Buffer, n_bytes: u64) -> Result<Vec<u64>, wgpu::MapRangeError> {
    let ticks = {
        let view = buffer.get_mapped_range(..n_bytes)?;
        view.chunks_exact(8)
            .map(|bytes| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)))
            .collect()
    };
    buffer.unmap();
    Ok(ticks)
}

/// State of results on their way to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    OnTheWay,
    Arrived,
    /// The device returned an error: it is lost.
    Failed,
    /// The commands were discarded and will never run.
    Abandoned,
}

/// State of one transfer, set by the thread that polls the device.
#[derive(Debug, Default)]
pub(crate) struct Arrival {
    state: AtomicU8,
    noticed: AtomicU64,
}

/// Sets the state of an [`Arrival`].
pub(crate) struct Notice(Arc<Arrival>);

impl Arrival {
    pub(crate) fn expected(arrival: &Arc<Self>) -> Notice {
        arrival.set(State::OnTheWay);
        Notice(Arc::clone(arrival))
    }

    pub(crate) fn state(&self) -> State {
        // Pairs with `set`: the time is visible with the state.
        match self.state.load(Ordering::Acquire) {
            0 => State::OnTheWay,
            1 => State::Arrived,
            2 => State::Failed,
            _ => State::Abandoned,
        }
    }

    fn set(&self, state: State) {
        self.state.store(state as u8, Ordering::Release);
    }

    fn noticed(&self) -> Timestamp {
        Timestamp::from_monotonic_nanos(self.noticed.load(Ordering::Relaxed))
    }
}

impl Notice {
    pub(crate) fn tell(self, outcome: Result<(), BufferAsyncError>) {
        self.0.noticed.store(Timestamp::now().monotonic_nanos(), Ordering::Relaxed);
        self.0.set(if outcome.is_ok() { State::Arrived } else { State::Failed });
    }
}

impl Drop for Notice {
    fn drop(&mut self) {
        if self.0.state() == State::OnTheWay {
            self.0.set(State::Abandoned);
        }
    }
}
