//! Timelines of Metal devices.

use crate::command_timeline::{Command, CommandTimeline};
use crate::counts::Counts;
use crate::driver_failure::DriverFailure;
use crate::error::Error;
use crate::launch::Launch;
use ferrum_trace::Timestamp;
use objc2::Message;
use objc2::rc::Retained;
use objc2::runtime::ProtocolObject;
use objc2_foundation::NSProcessInfo;
use objc2_metal::{MTLCommandBuffer, MTLCommandBufferError, MTLCommandBufferStatus};

/// A track of a Metal queue, timed by its command buffers.
///
/// **Not yet run on a Mac.** It compiles for macOS, and its logic (slots, order, losses) is tested against a simulated
/// device.
///
/// ```no_run
/// # use objc2::runtime::ProtocolObject; use objc2_metal::MTLCommandBuffer;
/// # fn run(buffer: &ProtocolObject<dyn MTLCommandBuffer>) -> Result<(), ferrum_trace_device::Error> {
/// use ferrum_trace_device::MetalTimeline;
/// let mut timeline = MetalTimeline::new("GPU 0 / queue", 1024);
///
/// let launch = timeline.launch("decode", "step");
/// timeline.launched(launch, buffer);
/// buffer.commit();
///
/// timeline.collect()?; // regularly: it never waits
/// # Ok(()) }
/// ```
///
/// Metal reports the times of a command buffer on the clock that counts while the machine is awake. `collect` reads
/// that clock together with the host's, so no calibration is needed.
#[derive(Debug)]
pub struct MetalTimeline(CommandTimeline<Buffer>);

#[derive(Debug)]
struct Buffer(Retained<ProtocolObject<dyn MTLCommandBuffer>>);

impl MetalTimeline {
    /// Creates a track with this name. `slots` is the number of command buffers that can be pending.
    pub fn new(name: &str, slots: usize) -> Self {
        Self(CommandTimeline::new(name, slots))
    }

    /// Call before a command buffer is committed. Begins a flow from the span that is open on this thread. Returns
    /// `None` if nothing is recorded, or if no slot is free, which is counted.
    pub fn launch(&mut self, name: &'static str, category: &'static str) -> Option<Launch> {
        self.0.launch(name, category)
    }

    /// Sets the command buffer of a launch. It is kept until it is done.
    pub fn launched(&mut self, launch: Option<Launch>, buffer: &ProtocolObject<dyn MTLCommandBuffer>) {
        if let Some(launch) = launch {
            self.0.launched(launch, Ok(Buffer(buffer.retain())));
        }
    }

    /// Records the command buffers that the device has finished, and returns their number. Never waits.
    ///
    /// # Errors
    ///
    /// If a command buffer failed, or the device was removed. After a removal all pending command buffers are counted
    /// as lost; after a failure the others are collected as usual.
    pub fn collect(&mut self) -> Result<u64, Error> {
        let before = Timestamp::now().monotonic_nanos();
        let awake = nanos(NSProcessInfo::processInfo().systemUptime());
        self.0.clock_mut().between(awake, (before, Timestamp::now().monotonic_nanos()));
        Ok(self.0.collect()?)
    }

    /// Counts of all launches by outcome.
    pub fn counts(&self) -> Counts {
        self.0.counts()
    }
}

impl Command for Buffer {
    fn times(&self) -> Result<Option<(u64, u64)>, DriverFailure> {
        match self.0.status() {
            MTLCommandBufferStatus::Completed => Ok(Some((nanos(self.0.GPUStartTime()), nanos(self.0.GPUEndTime())))),
            MTLCommandBufferStatus::Error => Err(self.failure()),
            _ => Ok(None),
        }
    }
}

impl Buffer {
    fn failure(&self) -> DriverFailure {
        let Some(error) = self.0.error() else {
            return DriverFailure { message: "a command buffer failed".into(), is_lost: false };
        };
        let is_lost = error.code() == MTLCommandBufferError::DeviceRemoved.0 as isize;
        DriverFailure { message: format!("a command buffer failed: {}", error.localizedDescription()), is_lost }
    }
}

fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}
