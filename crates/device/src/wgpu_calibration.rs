//! Compares the clock of a wgpu device with the host's: by the driver if possible, otherwise by timestamps between two
//! reads of the host's clock.

use crate::clock_map::ClockMap;
use crate::error::Error;
use crate::wgpu_batch::{Arrival, State, read_ticks, result_buffers, timestamp_queries};
use ferrum_trace::Timestamp;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;
use wgpu::{
    Buffer, CommandEncoderDescriptor, Device, Features, MapMode, PollError, PollType, QuerySet, Queue, SubmissionIndex,
};

/// Number of clock reads. The shortest delays determine the error, so more reads are better.
const ROUNDS: u32 = 64;
/// Time limit for an empty command.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The method of comparison.
pub(crate) enum Calibration {
    /// The driver reads the device's clock.
    #[cfg(feature = "wgpu-vulkan")]
    Vulkan(crate::vulkan_clock::VulkanClock),
    /// The device writes its timestamp as a command, which must be waited for.
    Rounds(Option<Rounds>),
}

impl Calibration {
    pub(crate) fn new(device: &Device) -> Self {
        #[cfg(feature = "wgpu-vulkan")]
        if let Some(clock) = crate::vulkan_clock::VulkanClock::of(device) {
            return Self::Vulkan(clock);
        }
        let has_timestamps = device.features().contains(Features::TIMESTAMP_QUERY_INSIDE_ENCODERS);
        Self::Rounds(has_timestamps.then(|| Rounds::new(device)))
    }

    /// Compares the clocks once, if that needs no waiting.
    pub(crate) fn compare_without_waiting(&self, clock: &mut ClockMap) {
        #[cfg(feature = "wgpu-vulkan")]
        if let Self::Vulkan(vulkan) = self
            && let Some((device, window)) = vulkan.read()
        {
            clock.between(device, window);
        }
        #[cfg(not(feature = "wgpu-vulkan"))]
        let _ = clock;
    }

    /// Compares the clocks as precisely as possible, and returns the last device time.
    pub(crate) fn run(
        &self,
        (device, queue): (&Device, &Queue),
        to_nanos: impl Fn(u64) -> u64,
        clock: &mut ClockMap,
    ) -> Result<u64, Error> {
        match self {
            #[cfg(feature = "wgpu-vulkan")]
            Self::Vulkan(vulkan) => {
                let reads: Vec<_> = (0..ROUNDS).filter_map(|_| vulkan.read()).collect();
                reads.iter().for_each(|&(device, window)| clock.between(device, window));
                reads.last().map(|&(device, _)| device).ok_or_else(|| Error::lost("its clock cannot be read"))
            }
            Self::Rounds(Some(rounds)) => rounds.run((device, queue), to_nanos, clock),
            Self::Rounds(None) => {
                let feature = "TIMESTAMP_QUERY_INSIDE_ENCODERS";
                Err(Error::unsupported(format!("expected a device with the feature {feature}, found one without")))
            }
        }
    }
}

/// Queries for all rounds.
pub(crate) struct Rounds {
    queries: QuerySet,
    resolved: Buffer,
    readback: Buffer,
}

impl Rounds {
    fn new(device: &Device) -> Self {
        let (resolved, readback) = result_buffers(device, ROUNDS);
        Self { queries: timestamp_queries(device, ROUNDS), resolved, readback }
    }

    /// Waits for the device.
    fn run(
        &self,
        (device, queue): (&Device, &Queue),
        to_nanos: impl Fn(u64) -> u64,
        clock: &mut ClockMap,
    ) -> Result<u64, Error> {
        let mut windows = Vec::with_capacity(ROUNDS as usize);
        for round in 0..ROUNDS {
            let mut encoder = device.create_command_encoder(&CommandEncoderDescriptor::default());
            encoder.write_timestamp(&self.queries, round);
            let commands = encoder.finish();
            let before = Timestamp::now();
            let submission = queue.submit([commands]);
            wait(device, submission)?;
            windows.push((before.monotonic_nanos(), Timestamp::now().monotonic_nanos()));
        }
        let ticks = self.read(device, queue)?;
        let mut last = 0;
        for (ticks, window) in ticks.into_iter().zip(windows) {
            last = to_nanos(ticks);
            clock.between(last, window);
        }
        Ok(last)
    }

    fn read(&self, device: &Device, queue: &Queue) -> Result<Vec<u64>, Error> {
        let n_bytes = self.readback.size();
        let mut encoder = device.create_command_encoder(&CommandEncoderDescriptor::default());
        encoder.resolve_query_set(&self.queries, 0..ROUNDS, &self.resolved, 0);
        encoder.copy_buffer_to_buffer(&self.resolved, 0, &self.readback, 0, n_bytes);
        let arrival = Arc::default();
        let notice = Arrival::expected(&arrival);
        encoder.map_buffer_on_submit(&self.readback, MapMode::Read, .., move |outcome| notice.tell(outcome));
        wait(device, queue.submit([encoder.finish()]))?;
        if arrival.state() != State::Arrived {
            return Err(Error::lost("the calibration has no results"));
        }
        read_ticks(&self.readback, n_bytes).map_err(|error| Error::failed(error.to_string()))
    }
}

fn wait(device: &Device, submission: SubmissionIndex) -> Result<(), Error> {
    poll(device, PollType::Wait { submission_index: Some(submission), timeout: Some(TIMEOUT) })
}

/// Polls the device. wgpu panics if the device is lost; here that is an error.
pub(crate) fn poll(device: &Device, how: PollType) -> Result<(), Error> {
    match catch_unwind(AssertUnwindSafe(|| device.poll(how))) {
        Ok(Ok(_)) => Ok(()),
        // A submission that was refused cannot be waited for.
        Ok(Err(PollError::WrongSubmissionIndex(..))) => Err(Error::lost("it accepts no more commands")),
        Ok(Err(error)) => Err(Error::failed(format!("the device does not respond: {error}"))),
        Err(_) => Err(Error::lost("wgpu cannot poll it")),
    }
}
