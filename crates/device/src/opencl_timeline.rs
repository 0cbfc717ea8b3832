//! What a device did for OpenCL.

use crate::counts::Counts;
use crate::device_track::DeviceTrack;
use crate::error::Error;
use crate::launch::{Done, Launch};
use crate::opencl_event::{Code, HeldEvent};
use ferrum_trace::Timestamp;
use opencl3::command_queue::{CL_QUEUE_PROFILING_ENABLE, CommandQueue};
use opencl3::event::Event;
use std::collections::VecDeque;
use std::time::Duration;

/// How often the clock is read when it is calibrated. The least delays count, so more of them are better.
const ROUNDS: u32 = 256;

/// What OpenCL says when the device, or the context with all that is in it, is gone: device not available, out of resources (a
/// kernel that crashed), invalid context, invalid queue.
const LOST_CODES: [Code; 4] = [-2, -5, -34, -36];

/// A row of the trace with what a queue of OpenCL did, by its profiling events.
///
/// ```no_run
/// # fn enqueue(_: &opencl3::command_queue::CommandQueue) -> opencl3::event::Event { unimplemented!() }
/// # fn run(queue: &opencl3::command_queue::CommandQueue) -> Result<(), ferrum_trace_device::Error> {
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
pub struct OpenClTimeline {
    track: DeviceTrack,
    slots: usize,
    pending: VecDeque<Pending>,
    lost: Option<Code>,
}

/// Several commands that have begun: for [`OpenClTimeline::end`].
#[derive(Debug)]
#[must_use = "a slot ends where it is given to `end`"]
pub struct OpenClSlot {
    launch: Launch,
    begin: HeldEvent,
}

#[derive(Debug)]
struct Pending {
    launch: Launch,
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
        Ok(Self { track: DeviceTrack::new(name), slots, pending: VecDeque::new(), lost: None })
    }

    /// Compares the device's clock with the host's, and returns by how much times may be off now. This waits for the device,
    /// some milliseconds if it is idle: call it at the start, and every some seconds if results are collected late. Without it,
    /// times are as precise as launches and results are close to each other.
    ///
    /// # Errors
    ///
    /// If the device does not answer.
    pub fn calibrate(&mut self, queue: &CommandQueue) -> Result<Duration, Error> {
        let mut last = 0;
        for _ in 0..ROUNDS {
            let (start, end, window) = round(queue).map_err(|code| self.error(code))?;
            self.track.clock_mut().not_before(start, window.0);
            self.track.clock_mut().not_after(end, window.1);
            last = end;
        }
        let clock = self.track.clock_mut();
        clock.settle();
        let mapped = clock.map(last).ok_or_else(|| Error::failed("the calibration gave no times"))?;
        Ok(Duration::from_nanos(mapped.error))
    }

    /// To be called before a command is enqueued. An arrow leaves the span that is open on this thread. `None` if nothing is
    /// recorded, or if no slot is free, which is counted.
    pub fn launch(&mut self, name: &'static str, category: &'static str) -> Option<Launch> {
        let launch = self.track.launch(name, category)?;
        self.has_room().then_some(launch)
    }

    /// The command was enqueued and gave this event.
    pub fn launched(&mut self, launch: Option<Launch>, event: &Event) {
        if let Some(launch) = launch {
            self.keep(launch, None, HeldEvent::retained(event));
        }
    }

    /// Several commands begin here, in a queue that runs them in order. `None` as for [`launch`](Self::launch).
    pub fn begin(&mut self, queue: &CommandQueue, name: &'static str, category: &'static str) -> Option<OpenClSlot> {
        let launch = self.launch(name, category)?;
        match HeldEvent::marker(queue) {
            Ok(begin) => Some(OpenClSlot { launch, begin }),
            Err(code) => {
                self.lose(code);
                None
            }
        }
    }

    /// They end here.
    pub fn end(&mut self, queue: &CommandQueue, slot: Option<OpenClSlot>) {
        if let Some(OpenClSlot { launch, begin }) = slot {
            self.keep(launch, Some(begin), HeldEvent::marker(queue));
        }
    }

    /// Records what the device is done with, and returns how much that was. It never waits.
    ///
    /// # Errors
    ///
    /// If a command failed, or the device is lost. All that was on its way to a lost device is counted; what came after a
    /// command that failed is collected as ever.
    pub fn collect(&mut self) -> Result<u64, Error> {
        let mut done = Vec::new();
        let mut failed = None;
        for _ in 0..self.pending.len() {
            let Some(pending) = self.pending.pop_front() else {
                break;
            };
            match pending.result() {
                Ok(Some(result)) => done.push(result),
                Ok(None) if self.lost.is_none() => self.pending.push_back(pending),
                Ok(None) => self.track.count_lost(1),
                Err(code) => {
                    self.lose(code);
                    failed = Some(code);
                }
            }
        }
        let before = self.counts().recorded;
        self.track.record(&done);
        match self.lost.or(failed) {
            Some(code) => Err(self.error(code)),
            None => Ok(self.counts().recorded - before),
        }
    }

    /// What became of all that was launched.
    pub fn counts(&self) -> Counts {
        self.track.counts()
    }

    fn has_room(&mut self) -> bool {
        let has_room = self.pending.len() < self.slots;
        self.track.count_dropped(u64::from(!has_room));
        has_room
    }

    fn keep(&mut self, launch: Launch, begin: Option<HeldEvent>, end: Result<HeldEvent, Code>) {
        match end {
            // Slots that were begun before may have filled it up.
            Ok(end) if self.has_room() => self.pending.push_back(Pending { launch, begin, end }),
            Ok(_) => {}
            Err(code) => self.lose(code),
        }
    }

    fn lose(&mut self, code: Code) {
        self.track.count_lost(1);
        if LOST_CODES.contains(&code) {
            self.lost = Some(code);
        }
    }

    fn error(&self, code: Code) -> Error {
        match LOST_CODES.contains(&code) {
            true => Error::lost(format!("OpenCL answers with error {code}")),
            false => Error::failed(format!("a command failed: OpenCL answers with error {code}")),
        }
    }
}

impl Pending {
    /// `None` if it is not done.
    fn result(&self) -> Result<Option<Done>, Code> {
        match self.end.status()? {
            0 => {}
            code if code < 0 => return Err(code),
            _ => return Ok(None),
        }
        let noticed = Timestamp::now();
        let begin = match &self.begin {
            Some(marker) => marker.end()?,
            None => self.end.start()?,
        };
        Ok(Some(Done { launch: self.launch, begin, end: self.end.end()?, noticed }))
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
