//! What a device did for OpenCL.

use crate::command_timeline::{Command, CommandTimeline};
use crate::counts::Counts;
use crate::error::Error;
use crate::launch::Launch;
use crate::opencl_event::{Code, HeldEvent};
use crate::trouble::Trouble;
use ferrum_trace::Timestamp;
use opencl3::command_queue::{CL_QUEUE_PROFILING_ENABLE, CommandQueue};
use opencl3::event::Event;
use std::time::Duration;

/// How often the clock is read when it is calibrated, at least and at most. The least delays count, so it is read until they are
/// small: on a busy machine most are not.
const ROUNDS_MIN: u32 = 64;
const ROUNDS_MAX: u32 = 4096;
/// What is good enough, in nanoseconds.
const UNCERTAINTY_MIN: u64 = 4_000;

/// What OpenCL says when the device, or the context with all that is in it, is gone: device not available, out of resources (a
/// kernel that crashed), invalid context, invalid queue.
const LOST_CODES: [Code; 4] = [-2, -5, -34, -36];

/// A row of the trace with what a queue of OpenCL did, by its profiling events.
///
/// ```no_run
/// # use opencl3::{command_queue::CommandQueue, event::Event};
/// # fn run(queue: &CommandQueue, enqueue: impl Fn(&CommandQueue) -> Event) -> Result<(), ferrum_trace_device::Error> {
/// use ferrum_trace_device::OpenClTimeline;
/// let mut timeline = OpenClTimeline::new("GPU 0 / queue", queue, 1024)?; // made with CL_QUEUE_PROFILING_ENABLE
/// timeline.calibrate(queue)?; // once, and when the engine is idle anyway
///
/// // One command, by the event it gives.
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
/// timeline.collect()?; // every now and then: it never waits
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct OpenClTimeline(CommandTimeline<Commands>);

/// Several commands that have begun: for [`OpenClTimeline::end`].
#[derive(Debug)]
#[must_use = "a slot ends where it is given to `end`"]
pub struct OpenClSlot {
    launch: Launch,
    begin: HeldEvent,
}

/// One command, or several between markers.
#[derive(Debug)]
struct Commands {
    /// What ran before the first command; `None` if it is one command.
    begin: Option<HeldEvent>,
    end: HeldEvent,
}

impl OpenClTimeline {
    /// A row of this name for what `queue` does. `slots` is how much can be on its way at a time.
    ///
    /// # Errors
    ///
    /// If the queue was made without `CL_QUEUE_PROFILING_ENABLE`, or is none.
    pub fn new(name: &str, queue: &CommandQueue, slots: usize) -> Result<Self, Error> {
        let properties = queue.properties().map_err(|error| Error::failed(format!("no queue of OpenCL: {error}")))?;
        if properties & CL_QUEUE_PROFILING_ENABLE == 0 {
            return Err(Error::unsupported("expected a queue with CL_QUEUE_PROFILING_ENABLE, found one without"));
        }
        Ok(Self(CommandTimeline::new(name, slots)))
    }

    /// Compares the device's clock with the host's, and returns by how much times may be off now. This waits for the device,
    /// from a millisecond to a quarter of a second: call it at the start, and every some seconds if results are collected late. Without it,
    /// times are as precise as launches and results are close to each other.
    ///
    /// # Errors
    ///
    /// If the device does not answer.
    pub fn calibrate(&mut self, queue: &CommandQueue) -> Result<Duration, Error> {
        let clock = self.0.clock_mut();
        let mut last = 0;
        for n_rounds in 1..=ROUNDS_MAX {
            let (start, end, window) = round(queue).map_err(trouble)?;
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

    /// To be called before a command is enqueued. An arrow leaves the span that is open on this thread. `None` if nothing is
    /// recorded, or if no slot is free, which is counted.
    pub fn launch(&mut self, name: &'static str, category: &'static str) -> Option<Launch> {
        self.0.launch(name, category)
    }

    /// The command was enqueued and gave this event.
    pub fn launched(&mut self, launch: Option<Launch>, event: &Event) {
        if let Some(launch) = launch {
            let command = HeldEvent::retained(event).map(|end| Commands { begin: None, end });
            self.0.launched(launch, command.map_err(trouble));
        }
    }

    /// Several commands begin here, in a queue that runs them in order. `None` as for [`launch`](Self::launch).
    pub fn begin(&mut self, queue: &CommandQueue, name: &'static str, category: &'static str) -> Option<OpenClSlot> {
        let launch = self.launch(name, category)?;
        match HeldEvent::marker(queue) {
            Ok(begin) => Some(OpenClSlot { launch, begin }),
            Err(code) => {
                self.0.lose(trouble(code));
                None
            }
        }
    }

    /// They end here.
    pub fn end(&mut self, queue: &CommandQueue, slot: Option<OpenClSlot>) {
        if let Some(OpenClSlot { launch, begin }) = slot {
            let commands = HeldEvent::marker(queue).map(|end| Commands { begin: Some(begin), end });
            self.0.launched(launch, commands.map_err(trouble));
        }
    }

    /// Records what the device is done with, and returns how much that was. It never waits.
    ///
    /// # Errors
    ///
    /// If a command failed, or the device is lost. All that was on its way to a lost device is counted; what came after a
    /// command that failed is collected as ever.
    pub fn collect(&mut self) -> Result<u64, Error> {
        Ok(self.0.collect()?)
    }

    /// What became of all that was launched.
    pub fn counts(&self) -> Counts {
        self.0.counts()
    }
}

impl Command for Commands {
    fn times(&self) -> Result<Option<(u64, u64)>, Trouble> {
        match self.end.status().map_err(trouble)? {
            0 => {}
            code if code < 0 => return Err(trouble(code)),
            _ => return Ok(None),
        }
        let begin = match &self.begin {
            Some(marker) => marker.end(),
            None => self.end.start(),
        };
        Ok(Some((begin.map_err(trouble)?, self.end.end().map_err(trouble)?)))
    }
}

fn trouble(code: Code) -> Trouble {
    let message = format!("OpenCL answers with error {code}");
    match LOST_CODES.contains(&code) {
        true => Trouble { message, is_lost: true },
        false => Trouble { message: format!("a command failed: {message}"), is_lost: false },
    }
}

/// A marker's begin and end, and the window in which it was enqueued and seen.
fn round(queue: &CommandQueue) -> Result<(u64, u64, (u64, u64)), Code> {
    let before = Timestamp::now();
    let marker = HeldEvent::marker(queue)?;
    marker.wait()?;
    let after = Timestamp::now();
    Ok((marker.start()?, marker.end()?, (before.monotonic_nanos(), after.monotonic_nanos())))
}
