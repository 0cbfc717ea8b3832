//! What a device did for Metal.

use crate::command_timeline::{Command, CommandTimeline};
use crate::counts::Counts;
use crate::error::Error;
use crate::launch::Launch;
use crate::trouble::Trouble;
use ferrum_trace::Timestamp;
use objc2::Message;
use objc2::rc::Retained;
use objc2::runtime::ProtocolObject;
use objc2_foundation::NSProcessInfo;
use objc2_metal::{MTLCommandBuffer, MTLCommandBufferError, MTLCommandBufferStatus};

/// A row of the trace with what a queue of Metal did, by the times of its command buffers.
///
/// **Not yet run on a Mac.** It compiles for macOS, and its logic (slots, order, losses) is tested against a stand-in.
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
/// timeline.collect()?; // every now and then: it never waits
/// # Ok(()) }
/// ```
///
/// Metal gives the times of a command buffer on the clock that counts while the machine is awake. That is read along with the
/// host's whenever something is collected, so there is nothing to calibrate.
#[derive(Debug)]
pub struct MetalTimeline(CommandTimeline<Buffer>);

#[derive(Debug)]
struct Buffer(Retained<ProtocolObject<dyn MTLCommandBuffer>>);

impl MetalTimeline {
    /// A row of this name. `slots` is how many command buffers can be on their way at a time.
    pub fn new(name: &str, slots: usize) -> Self {
        Self(CommandTimeline::new(name, slots))
    }

    /// To be called before a command buffer is committed. An arrow leaves the span that is open on this thread. `None` if
    /// nothing is recorded, or if no slot is free, which is counted.
    pub fn launch(&mut self, name: &'static str, category: &'static str) -> Option<Launch> {
        self.0.launch(name, category)
    }

    /// This is the command buffer. It is kept until it is done.
    pub fn launched(&mut self, launch: Option<Launch>, buffer: &ProtocolObject<dyn MTLCommandBuffer>) {
        if let Some(launch) = launch {
            self.0.launched(launch, Ok(Buffer(buffer.retain())));
        }
    }

    /// Records what the device is done with, and returns how much that was. It never waits.
    ///
    /// # Errors
    ///
    /// If a command buffer failed, or the device was removed. All that was on its way to a device that was removed is counted;
    /// what came after a command buffer that failed is collected as ever.
    pub fn collect(&mut self) -> Result<u64, Error> {
        let before = Timestamp::now().monotonic_nanos();
        let awake = nanos(NSProcessInfo::processInfo().systemUptime());
        self.0.clock_mut().between(awake, (before, Timestamp::now().monotonic_nanos()));
        Ok(self.0.collect()?)
    }

    /// What became of all that was launched.
    pub fn counts(&self) -> Counts {
        self.0.counts()
    }
}

impl Command for Buffer {
    fn times(&self) -> Result<Option<(u64, u64)>, Trouble> {
        match self.0.status() {
            MTLCommandBufferStatus::Completed => Ok(Some((nanos(self.0.GPUStartTime()), nanos(self.0.GPUEndTime())))),
            MTLCommandBufferStatus::Error => Err(self.trouble()),
            _ => Ok(None),
        }
    }
}

impl Buffer {
    fn trouble(&self) -> Trouble {
        let Some(error) = self.0.error() else {
            return Trouble { message: "a command buffer failed".into(), is_lost: false };
        };
        let is_lost = error.code() == MTLCommandBufferError::DeviceRemoved.0 as isize;
        Trouble { message: format!("a command buffer failed: {}", error.localizedDescription()), is_lost }
    }
}

fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}
