//! Timelines of CUDA devices.

use crate::counts::Counts;
use crate::cuda_driver::CudaDriver;
use crate::error::Error;
use crate::event_timeline::{EventTimeline, OpenSlot};
use cudarc::driver::{CudaEvent, CudaStream};
use std::time::Duration;

/// A track of CUDA work, timed by events.
///
/// **Not yet run on a GPU.** Its logic is tested against a simulated device, and it compiles everywhere; the driver
/// calls are those of `cudarc`. The driver is loaded when a timeline is created; without a driver, that is an error.
///
/// ```no_run
/// # fn launch(_: &cudarc::driver::CudaStream) {}
/// # fn run(stream: &cudarc::driver::CudaStream) -> Result<(), ferrum_trace_device::Error> {
/// use ferrum_trace_device::CudaTimeline;
/// let mut timeline = CudaTimeline::new("GPU 0 / stream 7", 0, 1024)?;
/// timeline.calibrate(stream)?; // once, and whenever the engine is idle
///
/// let slot = timeline.begin(stream, "attention", "attention");
/// launch(stream);
/// timeline.end(stream, slot);
///
/// timeline.collect()?; // regularly: it never waits
/// # Ok(()) }
/// ```
///
/// Streams that are captured into a graph cannot be measured: `begin` returns `None` for them and counts a loss.
#[derive(Debug)]
pub struct CudaTimeline(EventTimeline<CudaDriver>);

/// An open slot, for [`CudaTimeline::end`].
#[derive(Debug)]
#[must_use = "a slot ends where it is given to `end`"]
pub struct CudaSlot(OpenSlot<CudaEvent>);

impl CudaTimeline {
    /// Creates a track with this name for the primary context of a device, the one that `cudarc` and the CUDA runtime
    /// use. `slots` is the number of measurements that can be pending. Creates two events for each, and waits for one.
    ///
    /// # Errors
    ///
    /// If there is no driver, no such device, no more events, or if `slots` is above 65,536.
    pub fn new(name: &str, device: usize, slots: usize) -> Result<Self, Error> {
        let driver = CudaDriver::new(device)?;
        let stream = driver.default_stream();
        EventTimeline::new(driver, name, &stream, slots).map(Self)
    }

    /// Compares the device's clock with the host's, and returns the current error bound. Waits for the stream: call it
    /// at the start, and every few seconds if results are collected late.
    ///
    /// # Errors
    ///
    /// If the device does not respond.
    pub fn calibrate(&mut self, stream: &CudaStream) -> Result<Duration, Error> {
        self.0.calibrate(stream)
    }

    /// Begins a slice at this point of the stream, with a flow from the span that is open on this thread. Returns
    /// `None` if nothing is recorded, or if it cannot be measured, which is counted. A slot that is dropped instead of
    /// ended is never reused.
    pub fn begin(&mut self, stream: &CudaStream, name: &'static str, category: &'static str) -> Option<CudaSlot> {
        self.0.begin(stream, name, category).map(CudaSlot)
    }

    /// Ends the slice at this point of the stream.
    pub fn end(&mut self, stream: &CudaStream, slot: Option<CudaSlot>) {
        self.0.end(stream, slot.map(|slot| slot.0));
    }

    /// Records the slices that the device has finished, and returns their number. Never waits.
    ///
    /// # Errors
    ///
    /// If the device is lost; all pending measurements are counted then.
    pub fn collect(&mut self) -> Result<u64, Error> {
        self.0.collect()
    }

    /// Counts of all measurements by outcome.
    pub fn counts(&self) -> Counts {
        self.0.counts()
    }
}
