//! What a device did for CUDA.

use crate::counts::Counts;
use crate::cuda_driver::CudaDriver;
use crate::error::Error;
use crate::event_timeline::{EventTimeline, OpenSlot};
use cudarc::driver::{CudaEvent, CudaStream};
use std::time::Duration;

/// A row of the trace with what a device did for CUDA, by its events.
///
/// **Not yet run on a GPU.** Its logic is tested against a stand-in, and it compiles everywhere; the calls of the driver are those
/// of `cudarc`. The driver is loaded when a timeline is made; where there is none, that is an error.
///
/// ```no_run
/// # fn launch(_: &cudarc::driver::CudaStream) {}
/// # fn run(stream: &cudarc::driver::CudaStream) -> Result<(), ferrum_trace_device::Error> {
/// use ferrum_trace_device::CudaTimeline;
/// let mut timeline = CudaTimeline::new("GPU 0 / stream 7", 0, 1024)?;
/// timeline.calibrate(stream)?; // once, and when the engine is idle anyway
///
/// let slot = timeline.begin(stream, "attention", "attention");
/// launch(stream);
/// timeline.end(stream, slot);
///
/// timeline.collect()?; // every now and then: it never waits
/// # Ok(()) }
/// ```
///
/// Streams that are being captured into a graph cannot be measured: `begin` gives `None` for them, and counts a loss.
#[derive(Debug)]
pub struct CudaTimeline(EventTimeline<CudaDriver>);

/// A slot that has begun: for [`CudaTimeline::end`].
#[derive(Debug)]
#[must_use = "a slot ends where it is given to `end`"]
pub struct CudaSlot(OpenSlot<CudaEvent>);

impl CudaTimeline {
    /// A row of this name for what the device of this number does in its primary context, the one that `cudarc` and the
    /// runtime use. `slots` is how much can be on its way at a time; two events are made for each, and one is waited for.
    ///
    /// # Errors
    ///
    /// If there is no driver, no such device, no more events, or if there are to be more than 65,536 slots.
    pub fn new(name: &str, device: usize, slots: usize) -> Result<Self, Error> {
        let driver = CudaDriver::new(device)?;
        let stream = driver.default_stream();
        EventTimeline::new(driver, name, &stream, slots).map(Self)
    }

    /// Compares the device's clock with the host's, and returns by how much times may be off now. This waits for the stream:
    /// call it at the start, and every some seconds if results are collected late.
    ///
    /// # Errors
    ///
    /// If the device does not answer.
    pub fn calibrate(&mut self, stream: &CudaStream) -> Result<Duration, Error> {
        self.0.calibrate(stream)
    }

    /// Something begins here in the stream. An arrow leaves the span that is open on this thread. `None` if nothing is recorded,
    /// or if it cannot be measured, which is counted. A slot that is dropped instead of ended never comes back to the pool.
    pub fn begin(&mut self, stream: &CudaStream, name: &'static str, category: &'static str) -> Option<CudaSlot> {
        self.0.begin(stream, name, category).map(CudaSlot)
    }

    /// It ends here.
    pub fn end(&mut self, stream: &CudaStream, slot: Option<CudaSlot>) {
        self.0.end(stream, slot.map(|slot| slot.0));
    }

    /// Records what the device is done with, and returns how much that was. It never waits.
    ///
    /// # Errors
    ///
    /// If the device is lost; all that was on its way is counted then.
    pub fn collect(&mut self) -> Result<u64, Error> {
        self.0.collect()
    }

    /// What became of all that was begun.
    pub fn counts(&self) -> Counts {
        self.0.counts()
    }
}
