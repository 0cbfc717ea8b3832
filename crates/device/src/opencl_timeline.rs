//! Timelines of OpenCL devices.

use crate::command_timeline::{Command, CommandTimeline};
use crate::counts::Counts;
use crate::driver_failure::DriverFailure;
use crate::error::Error;
use crate::launch::Launch;
use crate::opencl_event::{Code, OwnedEvent};
use ferrum_trace::Timestamp;
use opencl3::command_queue::{CL_QUEUE_PROFILING_ENABLE, CommandQueue};
use opencl3::event::Event;
use std::time::Duration;

/// Minimum and maximum number of clock reads in a calibration. The shortest delays determine the error, so the clock is
/// read until they are short: on a busy machine most are not.
const ROUNDS_MIN: u32 = 64;
const ROUNDS_MAX: u32 = 4096;
/// The calibration stops below this uncertainty, in nanoseconds.
const UNCERTAINTY_MIN: u64 = 4_000;

/// OpenCL's errors if the device, or the context with everything in it, is gone: device not available, out of resources
/// (a kernel that crashed), invalid context, invalid queue.
const LOST_CODES: [Code; 4] = [-2, -5, -34, -36];

/// A track of an OpenCL queue, timed by profiling events.
///
/// ```no_run
/// # use opencl3::{command_queue::CommandQueue, event::Event};
/// # fn run(queue: &CommandQueue, enqueue: impl Fn(&CommandQueue) -> Event) -> Result<(), ferrum_trace_device::Error> {
/// use ferrum_trace_device::OpenClTimeline;
/// let mut timeline = OpenClTimeline::new("GPU 0 / queue", queue, 1024)?; // needs CL_QUEUE_PROFILING_ENABLE
/// timeline.calibrate(queue)?; // once, and whenever the engine is idle
///
/// // One command, by its event.
/// let launch = timeline.launch("gemm", "gemm");
/// let event = enqueue(queue);
/// timeline.launched(launch, &event);
///
/// // Several commands of a queue that runs them in order.
/// let slot = timeline.begin(queue, "layer", "layer");
/// enqueue(queue);
/// enqueue(queue);
/// timeline.end(queue, slot);
///
/// timeline.collect()?; // regularly: it never waits
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct OpenClTimeline(CommandTimeline<Commands>);

/// An open slot for several commands, for [`OpenClTimeline::end`].
#[derive(Debug)]
#[must_use = "a slot ends where it is given to `end`"]
pub struct OpenClSlot {
    launch: Launch,
    begin: OwnedEvent,
}

/// One command, or several between markers.
#[derive(Debug)]
struct Commands {
    /// The marker before the first command; `None` for a single command.
    begin: Option<OwnedEvent>,
    end: OwnedEvent,
}

impl OpenClTimeline {
    /// Creates a track with this name for a queue. `slots` is the number of measurements that can be pending.
    ///
    /// # Errors
    ///
    /// If the queue was created without `CL_QUEUE_PROFILING_ENABLE`, or is invalid.
    pub fn new(name: &str, queue: &CommandQueue, slots: usize) -> Result<Self, Error> {
        let properties = queue.properties().map_err(|error| Error::failed(format!("invalid OpenCL queue: {error}")))?;
        if properties & CL_QUEUE_PROFILING_ENABLE == 0 {
            return Err(Error::unsupported("expected a queue with CL_QUEUE_PROFILING_ENABLE, found one without"));
        }
        Ok(Self(CommandTimeline::new(name, slots)))
    }

    /// Compares the device's clock with the host's, and returns the current error bound. Waits for the device, from a
    /// millisecond to a quarter of a second: call it at the start, and every few seconds if results are collected late.
    /// Without calibration, the error depends on how quickly work begins after its launch and is collected after its
    /// end.
    ///
    /// # Errors
    ///
    /// If the device does not respond.
    pub fn calibrate(&mut self, queue: &CommandQueue) -> Result<Duration, Error> {
        let clock = self.0.clock_mut();
        let mut last = 0;
        for n_rounds in 1..=ROUNDS_MAX {
            let (start, end, window) = round(queue).map_err(failure)?;
            clock.not_before(start, window.0);
            clock.not_after(end, window.1);
            last = end;
            if n_rounds >= ROUNDS_MIN && clock.uncertainty(last).is_some_and(|nanos| nanos < UNCERTAINTY_MIN) {
                break;
            }
        }
        clock.settle();
        let mapped = clock.map(last).ok_or_else(|| Error::failed("the calibration gave no times"))?;
        Ok(Duration::from_nanos(mapped.error))
    }

    /// Call before a command is enqueued. Begins a flow from the span that is open on this thread. Returns `None` if
    /// nothing is recorded, or if no slot is free, which is counted.
    pub fn launch(&mut self, name: &'static str, category: &'static str) -> Option<Launch> {
        self.0.launch(name, category)
    }

    /// Sets the event of a launched command.
    pub fn launched(&mut self, launch: Option<Launch>, event: &Event) {
        if let Some(launch) = launch {
            let command = OwnedEvent::retained(event).map(|end| Commands { begin: None, end });
            self.0.launched(launch, command.map_err(failure));
        }
    }

    /// Begins a slice of several commands, in a queue that runs them in order. Returns `None` as
    /// [`launch`](Self::launch) does.
    pub fn begin(&mut self, queue: &CommandQueue, name: &'static str, category: &'static str) -> Option<OpenClSlot> {
        let launch = self.launch(name, category)?;
        match OwnedEvent::marker(queue) {
            Ok(begin) => Some(OpenClSlot { launch, begin }),
            Err(code) => {
                self.0.lose(failure(code));
                None
            }
        }
    }

    /// Ends the slice.
    pub fn end(&mut self, queue: &CommandQueue, slot: Option<OpenClSlot>) {
        if let Some(OpenClSlot { launch, begin }) = slot {
            let commands = OwnedEvent::marker(queue).map(|end| Commands { begin: Some(begin), end });
            self.0.launched(launch, commands.map_err(failure));
        }
    }

    /// Records the commands that the device has finished, and returns their number. Never waits.
    ///
    /// # Errors
    ///
    /// If a command failed, or the device is lost. With a lost device all pending commands are counted as lost; after a
    /// failure the others are collected as usual.
    pub fn collect(&mut self) -> Result<u64, Error> {
        Ok(self.0.collect()?)
    }

    /// Counts of all launches by outcome.
    pub fn counts(&self) -> Counts {
        self.0.counts()
    }
}

impl Command for Commands {
    fn times(&self) -> Result<Option<(u64, u64)>, DriverFailure> {
        match self.end.status().map_err(failure)? {
            0 => {}
            code if code < 0 => return Err(failure(code)),
            _ => return Ok(None),
        }
        let begin = match &self.begin {
            Some(marker) => marker.end(),
            None => self.end.start(),
        };
        Ok(Some((begin.map_err(failure)?, self.end.end().map_err(failure)?)))
    }
}

fn failure(code: Code) -> DriverFailure {
    let message = format!("OpenCL reports error {code}");
    match LOST_CODES.contains(&code) {
        true => DriverFailure { message, is_lost: true },
        false => DriverFailure { message: format!("a command failed: {message}"), is_lost: false },
    }
}

/// Begin and end of a marker, and the host times before it was enqueued and after it ended.
fn round(queue: &CommandQueue) -> Result<(u64, u64, (u64, u64)), Code> {
    let before = Timestamp::now();
    let marker = OwnedEvent::marker(queue)?;
    marker.wait()?;
    let after = Timestamp::now();
    Ok((marker.start()?, marker.end()?, (before.monotonic_nanos(), after.monotonic_nanos())))
}
