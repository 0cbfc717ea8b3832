//! Timelines of wgpu devices.

use crate::counts::Counts;
use crate::device_track::DeviceTrack;
use crate::error::Error;
use crate::launch::Done;
use crate::slots::check_slots;
use crate::wgpu_batch::{BATCH_SLOTS, Batch, State};
use crate::wgpu_calibration::{Calibration, poll};
use std::collections::VecDeque;
use std::time::Duration;
use wgpu::{
    CommandEncoder, ComputePassTimestampWrites, Device, Features, PollType, QuerySet, Queue, RenderPassTimestampWrites,
};

/// A track of a wgpu queue, timed by timestamp queries.
///
/// ```no_run
/// # fn work(_: &mut wgpu::CommandEncoder) {}
/// # fn run(device: &wgpu::Device, queue: &wgpu::Queue) -> Result<(), ferrum_trace_device::Error> {
/// use ferrum_trace_device::WgpuTimeline;
/// let mut timeline = WgpuTimeline::new("GPU 0 / queue", device, queue, 1024)?;
/// timeline.calibrate(queue)?; // once, and whenever the engine is idle
///
/// let mut encoder = device.create_command_encoder(&Default::default());
/// let slot = timeline.begin(&mut encoder, "attention", "attention");
/// work(&mut encoder);
/// timeline.end(&mut encoder, slot);
/// timeline.resolve(&mut encoder); // at the end of every encoder with a `begin`
/// queue.submit([encoder.finish()]);
///
/// timeline.collect()?; // regularly: it never waits
/// # Ok(()) }
/// ```
///
/// One timeline serves one encoder at a time: from the first `begin` to `resolve`, all calls are for the same encoder.
/// Threads that encode concurrently need one timeline each.
pub struct WgpuTimeline {
    device: Device,
    track: DeviceTrack,
    has_encoder_timestamps: bool,
    /// Nanoseconds per tick, times 2^32.
    period: u128,
    free: Vec<Batch>,
    /// Batches of the current encoder.
    filling: Vec<Batch>,
    sent: VecDeque<Batch>,
    n_batches_used: u64,
    calibration: Calibration,
    is_lost: bool,
}

/// An open slot, for [`WgpuTimeline::end`].
#[derive(Debug)]
#[must_use = "a slot ends where it is given to `end`"]
pub struct WgpuSlot {
    batch: u64,
    slot: u32,
}

/// A slot for a whole pass: see [`WgpuTimeline::pass`].
#[derive(Debug)]
pub struct PassSlot {
    queries: QuerySet,
    first: u32,
}

/// The writer of a slot's end timestamp.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EndWriter {
    /// The encoder, in `end` or `resolve`.
    Encoder,
    /// The pass, which also writes the begin.
    Pass,
}

impl PassSlot {
    /// The timestamp writes for a [`ComputePassDescriptor`](wgpu::ComputePassDescriptor).
    pub fn compute(&self) -> ComputePassTimestampWrites<'_> {
        ComputePassTimestampWrites {
            query_set: &self.queries,
            beginning_of_pass_write_index: Some(self.first),
            end_of_pass_write_index: Some(self.first + 1),
        }
    }

    /// The timestamp writes for a [`RenderPassDescriptor`](wgpu::RenderPassDescriptor).
    pub fn render(&self) -> RenderPassTimestampWrites<'_> {
        RenderPassTimestampWrites {
            query_set: &self.queries,
            beginning_of_pass_write_index: Some(self.first),
            end_of_pass_write_index: Some(self.first + 1),
        }
    }
}

impl WgpuTimeline {
    /// Creates a track with this name for `queue`. `slots` is the number of measurements that can be pending; an
    /// encoder takes whole batches of 32.
    ///
    /// # Errors
    ///
    /// If `device` was created without the feature `TIMESTAMP_QUERY`, or if `slots` is above 65,536.
    pub fn new(name: &str, device: &Device, queue: &Queue, slots: u32) -> Result<Self, Error> {
        check_slots(slots as usize)?;
        if !device.features().contains(Features::TIMESTAMP_QUERY) {
            return Err(Error::unsupported("expected a device with the feature TIMESTAMP_QUERY, found one without"));
        }
        Ok(Self {
            device: device.clone(),
            track: DeviceTrack::new(name),
            has_encoder_timestamps: device.features().contains(Features::TIMESTAMP_QUERY_INSIDE_ENCODERS),
            period: (f64::from(queue.get_timestamp_period()) * (1u64 << 32) as f64) as u128,
            free: (0..slots.div_ceil(BATCH_SLOTS).max(1)).map(|_| Batch::new(device)).collect(),
            filling: Vec::new(),
            sent: VecDeque::new(),
            n_batches_used: 0,
            calibration: Calibration::new(device),
            is_lost: false,
        })
    }

    /// Compares the device's clock with the host's, and returns the current error bound.
    ///
    /// With a device of `request_calibrated_device` this takes some microseconds, and `collect` does it too. With
    /// others it waits for the device, some milliseconds if that is idle: call it at the start, and every few seconds
    /// if results are collected late. Without calibration, the error depends on how quickly work begins after its
    /// launch and is collected after its end.
    ///
    /// # Errors
    ///
    /// If the device is lost, does not respond, or has no `TIMESTAMP_QUERY_INSIDE_ENCODERS`.
    pub fn calibrate(&mut self, queue: &Queue) -> Result<Duration, Error> {
        if self.is_lost {
            return Err(Error::lost("it returned no results"));
        }
        let period = self.period;
        let clock = self.track.clock_mut();
        let last = self.calibration.run((&self.device, queue), |ticks| nanos(ticks, period), clock)?;
        clock.settle();
        let mapped = clock.map(last).ok_or_else(|| Error::failed("the calibration has no times"))?;
        Ok(Duration::from_nanos(mapped.error))
    }

    /// Begins a slice at this point of the encoder's commands, with a flow from the span that is open on this thread.
    ///
    /// Returns `None` if nothing is recorded, or if it cannot be measured, which is counted: no slot is free, or the
    /// device has no `TIMESTAMP_QUERY_INSIDE_ENCODERS`. Use [`pass`](Self::pass) in that case.
    pub fn begin(
        &mut self,
        encoder: &mut CommandEncoder,
        name: &'static str,
        category: &'static str,
    ) -> Option<WgpuSlot> {
        let (batch, slot) = self.take(name, category, EndWriter::Encoder)?;
        encoder.write_timestamp(&batch.queries, 2 * slot);
        Some(WgpuSlot { batch: batch.id, slot })
    }

    /// Ends the slice, in the same encoder.
    pub fn end(&mut self, encoder: &mut CommandEncoder, slot: Option<WgpuSlot>) {
        let Some(WgpuSlot { batch, slot }) = slot else {
            return;
        };
        // If the batch is missing, `resolve` has ended the slot.
        if let Some(batch) = self.filling.iter_mut().find(|filling| filling.id == batch)
            && batch.close(slot)
        {
            encoder.write_timestamp(&batch.queries, 2 * slot + 1);
        }
    }

    /// Begins a slice for a whole pass: pass [`PassSlot::compute`] or [`PassSlot::render`] to its descriptor. Returns
    /// `None` as [`begin`](Self::begin) does.
    pub fn pass(&mut self, name: &'static str, category: &'static str) -> Option<PassSlot> {
        let (batch, slot) = self.take(name, category, EndWriter::Pass)?;
        Some(PassSlot { queries: batch.queries.clone(), first: 2 * slot })
    }

    /// Copies the results of this encoder to the host when its commands have run. Ends open slots.
    pub fn resolve(&mut self, encoder: &mut CommandEncoder) {
        for mut batch in self.filling.drain(..) {
            batch.send(encoder);
            self.sent.push_back(batch);
        }
    }

    /// Records the slices that the device has finished, and returns their number. Never waits.
    ///
    /// # Errors
    ///
    /// If the device is lost; all pending measurements are counted then.
    pub fn collect(&mut self) -> Result<u64, Error> {
        if !self.is_lost && poll(&self.device, PollType::Poll).is_err_and(|error| error.is_lost()) {
            self.is_lost = true;
        }
        let mut done = Vec::new();
        for _ in 0..self.sent.len() {
            if let Some(batch) = self.sent.pop_front() {
                self.look_at(batch, &mut done);
            }
        }
        let before = self.counts().recorded;
        if !done.is_empty() {
            self.calibration.compare_without_waiting(self.track.clock_mut());
        }
        self.track.record(&done);
        match self.is_lost {
            true => Err(Error::lost("it returned no results")),
            false => Ok(self.counts().recorded - before),
        }
    }

    /// Counts of all measurements by outcome.
    pub fn counts(&self) -> Counts {
        self.track.counts()
    }

    /// Takes a slot; returns its batch and its number in it.
    fn take(&mut self, name: &'static str, category: &'static str, end: EndWriter) -> Option<(&Batch, u32)> {
        if !ferrum_trace::is_on() {
            return None;
        }
        if self.is_lost {
            self.track.count_lost(1);
            return None;
        }
        let can_be_written = self.has_encoder_timestamps || end == EndWriter::Pass;
        if !can_be_written || !self.has_room() {
            self.track.count_dropped(1);
            return None;
        }
        // Only now: a launch that will not be measured must not start a flow.
        let launch = self.track.launch(name, category)?;
        let batch = self.filling.last_mut()?;
        let slot = batch.take(launch, end == EndWriter::Encoder);
        Some((batch, slot))
    }

    /// Returns true if the current batch has a free slot, or a free batch could be taken.
    fn has_room(&mut self) -> bool {
        if self.filling.last().is_some_and(|batch| !batch.is_full()) {
            return true;
        }
        let Some(mut batch) = self.free.pop() else {
            return false;
        };
        self.n_batches_used += 1;
        batch.id = self.n_batches_used;
        self.filling.push(batch);
        true
    }

    fn look_at(&mut self, mut batch: Batch, done: &mut Vec<Done>) {
        match batch.state() {
            State::OnTheWay if !self.is_lost => return self.sent.push_back(batch),
            State::Arrived => {
                let period = self.period;
                self.is_lost |= batch.receive(|ticks| nanos(ticks, period), done).is_err();
            }
            State::Abandoned => {}
            State::OnTheWay | State::Failed => self.is_lost = true,
        }
        let n_lost = batch.give_up();
        self.track.count_lost(n_lost);
        // The buffers of a lost device cannot be reused.
        if !self.is_lost {
            self.free.push(batch);
        }
    }
}

impl std::fmt::Debug for WgpuTimeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WgpuTimeline")
            .field("track", &self.track)
            .field("is_lost", &self.is_lost)
            .finish_non_exhaustive()
    }
}

fn nanos(ticks: u64, period: u128) -> u64 {
    u64::try_from((u128::from(ticks) * period) >> 32).unwrap_or(u64::MAX)
}
