//! Timelines of devices whose events report only the time between two of them: CUDA.
//!
//! ```text
//!  base ──────────────── elapsed ──────────────▶ begin ── elapsed ──▶ end
//! ```
//!
//! The time between two events is a float of milliseconds, precise to half a microsecond up to some seconds. So an
//! event that is further from the base becomes the next base.

use crate::counts::Counts;
use crate::device_track::DeviceTrack;
use crate::driver_failure::DriverFailure;
use crate::error::Error;
use crate::launch::{Done, Launch};
use crate::slots::check_slots;
use ferrum_trace::Timestamp;
use std::collections::VecDeque;
use std::time::Duration;

/// Number of clock reads in a calibration.
const ROUNDS: u32 = 64;
/// Largest distance from the base at which times are precise.
const BASE_NANOS: i64 = 4_000_000_000;
/// The time of the first base. Above zero, so that earlier events have a time too.
const FIRST_BASE_NANOS: u64 = 1 << 50;

/// Driver operations on events.
pub(crate) trait Events {
    type Event;
    type Stream;

    fn new_event(&self) -> Result<Self::Event, DriverFailure>;
    /// Enqueues an event, which completes when all earlier work of the stream is done.
    fn record(&self, event: &Self::Event, stream: &Self::Stream) -> Result<(), DriverFailure>;
    /// Returns true if the event has completed. Does not wait.
    fn is_complete(&self, event: &Self::Event) -> Result<bool, DriverFailure>;
    /// The time between two completed events.
    fn elapsed_ms(&self, from: &Self::Event, to: &Self::Event) -> Result<f32, DriverFailure>;
    /// Waits until the event has completed.
    fn wait(&self, event: &Self::Event) -> Result<(), DriverFailure>;
}

/// The begin and the end of a slot.
#[derive(Debug)]
pub(crate) struct Pair<E> {
    begin: E,
    end: E,
}

/// An open slot.
#[derive(Debug)]
pub(crate) struct OpenSlot<E> {
    launch: Launch,
    events: Pair<E>,
}

/// A track, a pool of pairs of events, and the pending pairs.
#[derive(Debug)]
pub(crate) struct EventTimeline<D: Events> {
    driver: D,
    track: DeviceTrack,
    base: D::Event,
    base_nanos: u64,
    /// For calibration.
    probe: D::Event,
    free: Vec<Pair<D::Event>>,
    pending: VecDeque<OpenSlot<D::Event>>,
    lost: Option<DriverFailure>,
}

impl<D: Events> EventTimeline<D> {
    /// Creates all events that will be needed, and waits for the first one in `stream`.
    pub(crate) fn new(driver: D, name: &str, stream: &D::Stream, slots: usize) -> Result<Self, Error> {
        check_slots(slots)?;
        let base = driver.new_event()?;
        driver.record(&base, stream)?;
        driver.wait(&base)?;
        let pair = |_| Ok(Pair { begin: driver.new_event()?, end: driver.new_event()? });
        let free = (0..slots).map(pair).collect::<Result<_, DriverFailure>>()?;
        let probe = driver.new_event()?;
        let track = DeviceTrack::new(name);
        let pending = VecDeque::with_capacity(slots);
        Ok(Self { driver, track, base, base_nanos: FIRST_BASE_NANOS, probe, free, pending, lost: None })
    }

    /// Compares the clocks. Waits for the device.
    pub(crate) fn calibrate(&mut self, stream: &D::Stream) -> Result<Duration, Error> {
        let mut last = 0;
        for _ in 0..ROUNDS {
            let before = Timestamp::now();
            self.driver.record(&self.probe, stream)?;
            self.driver.wait(&self.probe)?;
            let window = (before.monotonic_nanos(), Timestamp::now().monotonic_nanos());
            last = self.base_nanos.saturating_add_signed(nanos(self.driver.elapsed_ms(&self.base, &self.probe)?));
            self.track.clock_mut().between(last, window);
        }
        let clock = self.track.clock_mut();
        clock.settle();
        let mapped = clock.map(last).ok_or_else(|| Error::failed("the calibration gave no times"))?;
        Ok(Duration::from_nanos(mapped.error))
    }

    pub(crate) fn begin(
        &mut self,
        stream: &D::Stream,
        name: &'static str,
        category: &'static str,
    ) -> Option<OpenSlot<D::Event>> {
        if !ferrum_trace::is_on() {
            return None;
        }
        if self.lost.is_some() {
            self.track.count_lost(1);
            return None;
        }
        let Some(events) = self.free.pop() else {
            self.track.count_dropped(1);
            return None;
        };
        // Only now: a launch that will not be measured must not start a flow.
        let launch = self.track.launch(name, category)?;
        match self.driver.record(&events.begin, stream) {
            Ok(()) => Some(OpenSlot { launch, events }),
            Err(error) => {
                self.lose(events, error);
                None
            }
        }
    }

    pub(crate) fn end(&mut self, stream: &D::Stream, slot: Option<OpenSlot<D::Event>>) {
        let Some(slot) = slot else {
            return;
        };
        match self.driver.record(&slot.events.end, stream) {
            Ok(()) => self.pending.push_back(slot),
            Err(error) => self.lose(slot.events, error),
        }
    }

    /// Records finished slices. Never waits.
    pub(crate) fn collect(&mut self) -> Result<u64, Error> {
        let mut done = Vec::new();
        let mut failed = None;
        for _ in 0..self.pending.len() {
            let Some(OpenSlot { launch, events }) = self.pending.pop_front() else {
                break;
            };
            let times = match &self.lost {
                Some(error) => Err(error.clone()),
                None => self.times(&events),
            };
            match times {
                Ok(None) => self.pending.push_back(OpenSlot { launch, events }),
                Ok(Some((begin, end))) => {
                    done.push(Done { launch, begin, end, noticed: Timestamp::now() });
                    self.take_back(events, begin);
                }
                Err(error) => {
                    failed = Some(error.clone());
                    self.lose(events, error);
                }
            }
        }
        let before = self.counts().recorded;
        self.track.record(&done);
        match self.lost.clone().or(failed) {
            Some(error) => Err(error.into()),
            None => Ok(self.counts().recorded - before),
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        self.track.counts()
    }

    /// Begin and end; `None` if the pair has not completed.
    fn times(&self, events: &Pair<D::Event>) -> Result<Option<(u64, u64)>, DriverFailure> {
        if !self.driver.is_complete(&events.end)? {
            return Ok(None);
        }
        let begin = self.base_nanos.saturating_add_signed(nanos(self.driver.elapsed_ms(&self.base, &events.begin)?));
        let length = nanos(self.driver.elapsed_ms(&events.begin, &events.end)?);
        Ok(Some((begin, begin.saturating_add_signed(length))))
    }

    /// Puts a pair back into the pool. If it is far from the base, its begin becomes the new base.
    fn take_back(&mut self, mut events: Pair<D::Event>, begin: u64) {
        if begin > self.base_nanos.saturating_add_signed(BASE_NANOS) {
            std::mem::swap(&mut self.base, &mut events.begin);
            self.base_nanos = begin;
        }
        self.free.push(events);
    }

    fn lose(&mut self, events: Pair<D::Event>, error: DriverFailure) {
        self.track.count_lost(1);
        self.free.push(events);
        if error.is_lost {
            self.lost = Some(error);
        }
    }
}

fn nanos(milliseconds: f32) -> i64 {
    (f64::from(milliseconds) * 1e6).round() as i64
}

#[cfg(test)]
mod tests {
    //! Tests on a simulated device: its streams run on command, and its clock is apart from the host's.

    use super::*;
    use crate::stand_in::recorded;
    use ferrum_trace::span;
    use ferrum_trace_testkit::trace_file::Event as TraceEvent;
    use std::cell::{Cell, RefCell};
    use std::rc::Rc;

    const APART_NANOS: u64 = 7_000_000_000;

    /// Queued events of all streams, and the offset of the device's clock.
    #[derive(Default)]
    struct StandIn {
        queued: RefCell<Vec<Rc<Cell<Option<u64>>>>>,
        ahead_nanos: Cell<u64>,
        is_gone: Cell<bool>,
    }

    impl StandIn {
        /// Completes all queued events.
        fn run(&self) {
            for event in self.queued.borrow_mut().drain(..) {
                event.set(Some(Timestamp::now().monotonic_nanos() + APART_NANOS + self.ahead_nanos.get()));
            }
        }

        fn answer<T>(&self, value: T) -> Result<T, DriverFailure> {
            match self.is_gone.get() {
                true => Err(DriverFailure { message: "fell off the bus".into(), is_lost: true }),
                false => Ok(value),
            }
        }
    }

    impl Events for Rc<StandIn> {
        type Event = Rc<Cell<Option<u64>>>;
        type Stream = ();

        fn new_event(&self) -> Result<Self::Event, DriverFailure> {
            self.answer(Rc::default())
        }

        fn record(&self, event: &Self::Event, (): &()) -> Result<(), DriverFailure> {
            event.set(None);
            self.queued.borrow_mut().push(Rc::clone(event));
            self.answer(())
        }

        fn is_complete(&self, event: &Self::Event) -> Result<bool, DriverFailure> {
            self.answer(event.get().is_some())
        }

        fn elapsed_ms(&self, from: &Self::Event, to: &Self::Event) -> Result<f32, DriverFailure> {
            let (from, to) = (from.get().expect("has happened"), to.get().expect("has happened"));
            self.answer(((to as f64 - from as f64) / 1e6) as f32)
        }

        fn wait(&self, _: &Self::Event) -> Result<(), DriverFailure> {
            self.run();
            self.answer(())
        }
    }

    type Timeline = EventTimeline<Rc<StandIn>>;

    fn timeline(slots: usize) -> (Rc<StandIn>, Timeline) {
        let device = Rc::new(StandIn::default());
        let timeline = EventTimeline::new(Rc::clone(&device), "GPU 0 / stream 7", &(), slots).unwrap();
        (device, timeline)
    }

    fn launch(timeline: &mut Timeline) {
        let slot = timeline.begin(&(), "kernel", "gemm");
        timeline.end(&(), slot);
    }

    #[test]
    fn kernels_are_inside_the_windows_of_the_host_in_order_and_with_flows() {
        let (device, mut timeline) = timeline(4);
        let mut windows = Vec::new();
        let trace = recorded(|| {
            timeline.calibrate(&()).unwrap();
            for n in 0..1000u32 {
                let before = Timestamp::now().monotonic_nanos();
                {
                    let _launch = span!("launch", "scheduler", n);
                    launch(&mut timeline);
                }
                assert_eq!(timeline.collect().unwrap(), 0, "it has not run, and `collect` does not wait");
                device.run();
                assert_eq!(timeline.collect().unwrap(), 1);
                windows.push((before, Timestamp::now().monotonic_nanos()));
            }
        });
        let origin = trace.about("start_monotonic_ns");
        let kernels: Vec<&TraceEvent> = trace.named("kernel").collect();
        assert_eq!(kernels.len(), 1000);
        for (kernel, (before, after)) in kernels.iter().zip(windows) {
            assert!(origin + kernel.start_ns >= before && origin + kernel.end_ns <= after);
            assert!(kernel.number("clock_error_ns") < 1_000_000);
        }
        assert!(kernels.is_sorted_by_key(|kernel| kernel.start_ns));
        assert_eq!(trace.named("flow").filter(|event| event.phase == 'f').count(), 1000);
        assert_eq!(timeline.counts(), Counts { recorded: 1000, ..Counts::default() });
    }

    #[test]
    fn a_kernel_without_a_free_slot_is_dropped_and_slots_are_reused() {
        let (device, mut timeline) = timeline(3);
        recorded(|| {
            (0..5).for_each(|_| launch(&mut timeline));
            device.run();
            assert_eq!(timeline.collect().unwrap(), 3);
            launch(&mut timeline);
            device.run();
            assert_eq!(timeline.collect().unwrap(), 1);
        });
        assert_eq!(timeline.counts(), Counts { recorded: 4, dropped: 2, ..Counts::default() });
    }

    #[test]
    fn a_lost_device_is_an_error_and_all_pending_kernels_are_counted() {
        let (device, mut timeline) = timeline(3);
        recorded(|| {
            (0..2).for_each(|_| launch(&mut timeline));
            device.is_gone.set(true);
            let error = timeline.collect().unwrap_err();
            assert!(error.is_lost());
            assert_eq!(error.to_string(), "the device is lost: fell off the bus");
            launch(&mut timeline);
            assert!(timeline.collect().unwrap_err().is_lost());
            assert!(timeline.calibrate(&()).unwrap_err().is_lost());
        });
        assert_eq!(timeline.counts(), Counts { lost: 3, ..Counts::default() });
    }

    #[test]
    fn a_kernel_after_a_long_pause_has_a_precise_duration() {
        let (device, mut timeline) = timeline(3);
        recorded(|| {
            // A float of milliseconds has a resolution of a quarter millisecond at one hour.
            device.ahead_nanos.set(3_600_000_000_000);
            let launch_long = |timeline: &mut Timeline| {
                let slot = timeline.begin(&(), "kernel", "gemm");
                device.run();
                device.ahead_nanos.set(device.ahead_nanos.get() + 50_000_000);
                timeline.end(&(), slot);
                device.run();
                timeline.times(&timeline.pending[0].events).unwrap().unwrap()
            };
            let (begin, end) = launch_long(&mut timeline);
            assert_ne!((end - begin) % 250_000, 0, "not rounded to a quarter of a millisecond");
            timeline.collect().unwrap();
            assert_eq!(timeline.base_nanos, begin, "the begin is the new base");
            let (next, _) = launch_long(&mut timeline);
            assert!(next > end && (next - begin) % 250_000 != 0);
        });
    }
}
