//! Timelines of devices whose events know only how long after each other they were: those of CUDA.
//!
//! ```text
//!  base ──────────────── elapsed ──────────────▶ begin ── elapsed ──▶ end
//! ```
//!
//! The time between two events is a float of milliseconds, good to half a microsecond as long as it is below some seconds. So an
//! event that is further from the base becomes the next base.

use crate::counts::Counts;
use crate::device_track::DeviceTrack;
use crate::error::Error;
use crate::launch::{Done, Launch};
use crate::slots::check_slots;
use crate::trouble::Trouble;
use ferrum_trace::Timestamp;
use std::collections::VecDeque;
use std::time::Duration;

/// How often the clock is read when it is calibrated.
const ROUNDS: u32 = 64;
/// How far from the base times are precise.
const BASE_NANOS: i64 = 4_000_000_000;
/// The time of the first base: some time, so that what was before it has a time too.
const FIRST_BASE_NANOS: u64 = 1 << 50;

/// What a device offers.
pub trait Events {
    type Event;
    type Stream;

    fn new_event(&self) -> Result<Self::Event, Trouble>;
    /// Enqueues it, so that it happens when all before it in the stream is done.
    fn record(&self, event: &Self::Event, stream: &Self::Stream) -> Result<(), Trouble>;
    /// Whether it has happened. Does not wait.
    fn is_complete(&self, event: &Self::Event) -> Result<bool, Trouble>;
    /// The time between two events that have happened.
    fn elapsed_ms(&self, from: &Self::Event, to: &Self::Event) -> Result<f32, Trouble>;
    /// Waits until it has happened.
    fn wait(&self, event: &Self::Event) -> Result<(), Trouble>;
}

/// The begin and the end of a slot.
#[derive(Debug)]
pub struct Pair<E> {
    begin: E,
    end: E,
}

/// A slot that has begun.
#[derive(Debug)]
pub struct OpenSlot<E> {
    launch: Launch,
    events: Pair<E>,
}

/// A row, a pool of pairs of events, and what is on its way.
#[derive(Debug)]
pub struct EventTimeline<D: Events> {
    driver: D,
    track: DeviceTrack,
    base: D::Event,
    base_nanos: u64,
    /// For calibration.
    probe: D::Event,
    free: Vec<Pair<D::Event>>,
    pending: VecDeque<OpenSlot<D::Event>>,
    lost: Option<Trouble>,
}

impl<D: Events> EventTimeline<D> {
    /// Makes all events that will ever be needed, and waits for the first one in `stream`.
    pub fn new(driver: D, name: &str, stream: &D::Stream, slots: usize) -> Result<Self, Error> {
        check_slots(slots)?;
        let base = driver.new_event()?;
        driver.record(&base, stream)?;
        driver.wait(&base)?;
        let pair = |_| Ok(Pair { begin: driver.new_event()?, end: driver.new_event()? });
        let free = (0..slots).map(pair).collect::<Result<_, Trouble>>()?;
        let probe = driver.new_event()?;
        let track = DeviceTrack::new(name);
        let pending = VecDeque::with_capacity(slots);
        Ok(Self { driver, track, base, base_nanos: FIRST_BASE_NANOS, probe, free, pending, lost: None })
    }

    /// Waits for the device.
    pub fn calibrate(&mut self, stream: &D::Stream) -> Result<Duration, Error> {
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

    pub fn begin(
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
        // Not before: no arrow leaves for what will not be measured.
        let launch = self.track.launch(name, category)?;
        match self.driver.record(&events.begin, stream) {
            Ok(()) => Some(OpenSlot { launch, events }),
            Err(trouble) => {
                self.lose(events, trouble);
                None
            }
        }
    }

    pub fn end(&mut self, stream: &D::Stream, slot: Option<OpenSlot<D::Event>>) {
        let Some(slot) = slot else {
            return;
        };
        match self.driver.record(&slot.events.end, stream) {
            Ok(()) => self.pending.push_back(slot),
            Err(trouble) => self.lose(slot.events, trouble),
        }
    }

    /// Never waits.
    pub fn collect(&mut self) -> Result<u64, Error> {
        let mut done = Vec::new();
        let mut failed = None;
        for _ in 0..self.pending.len() {
            let Some(OpenSlot { launch, events }) = self.pending.pop_front() else {
                break;
            };
            let times = match &self.lost {
                Some(trouble) => Err(trouble.clone()),
                None => self.times(&events),
            };
            match times {
                Ok(None) => self.pending.push_back(OpenSlot { launch, events }),
                Ok(Some((begin, end))) => {
                    done.push(Done { launch, begin, end, noticed: Timestamp::now() });
                    self.take_back(events, begin);
                }
                Err(trouble) => {
                    failed = Some(trouble.clone());
                    self.lose(events, trouble);
                }
            }
        }
        let before = self.counts().recorded;
        self.track.record(&done);
        match self.lost.clone().or(failed) {
            Some(trouble) => Err(trouble.into()),
            None => Ok(self.counts().recorded - before),
        }
    }

    pub fn counts(&self) -> Counts {
        self.track.counts()
    }

    /// `None` if it is not done.
    fn times(&self, events: &Pair<D::Event>) -> Result<Option<(u64, u64)>, Trouble> {
        if !self.driver.is_complete(&events.end)? {
            return Ok(None);
        }
        let begin = self.base_nanos.saturating_add_signed(nanos(self.driver.elapsed_ms(&self.base, &events.begin)?));
        let length = nanos(self.driver.elapsed_ms(&events.begin, &events.end)?);
        Ok(Some((begin, begin.saturating_add_signed(length))))
    }

    /// Puts a pair back into the pool, and what is far from the base in its place.
    fn take_back(&mut self, mut events: Pair<D::Event>, begin: u64) {
        if begin > self.base_nanos.saturating_add_signed(BASE_NANOS) {
            std::mem::swap(&mut self.base, &mut events.begin);
            self.base_nanos = begin;
        }
        self.free.push(events);
    }

    fn lose(&mut self, events: Pair<D::Event>, trouble: Trouble) {
        self.track.count_lost(1);
        self.free.push(events);
        if trouble.is_lost {
            self.lost = Some(trouble);
        }
    }
}

fn nanos(milliseconds: f32) -> i64 {
    (f64::from(milliseconds) * 1e6).round() as i64
}

#[cfg(test)]
mod tests {
    //! On a stand-in: streams that run when they are told to, and a clock that is apart from the host's.

    use super::*;
    use crate::stand_in::recorded;
    use ferrum_trace::span;
    use ferrum_trace_testkit::trace_file::Event as TraceEvent;
    use std::cell::{Cell, RefCell};
    use std::rc::Rc;

    const APART_NANOS: u64 = 7_000_000_000;

    /// What is in a stream, and how far the device's clock was put forward.
    #[derive(Default)]
    struct StandIn {
        queued: RefCell<Vec<Rc<Cell<Option<u64>>>>>,
        ahead_nanos: Cell<u64>,
        is_gone: Cell<bool>,
    }

    impl StandIn {
        /// All that is queued happens now.
        fn run(&self) {
            for event in self.queued.borrow_mut().drain(..) {
                event.set(Some(Timestamp::now().monotonic_nanos() + APART_NANOS + self.ahead_nanos.get()));
            }
        }

        fn answer<T>(&self, value: T) -> Result<T, Trouble> {
            match self.is_gone.get() {
                true => Err(Trouble { message: "fell off the bus".into(), is_lost: true }),
                false => Ok(value),
            }
        }
    }

    impl Events for Rc<StandIn> {
        type Event = Rc<Cell<Option<u64>>>;
        type Stream = ();

        fn new_event(&self) -> Result<Self::Event, Trouble> {
            self.answer(Rc::default())
        }

        fn record(&self, event: &Self::Event, (): &()) -> Result<(), Trouble> {
            event.set(None);
            self.queued.borrow_mut().push(Rc::clone(event));
            self.answer(())
        }

        fn is_complete(&self, event: &Self::Event) -> Result<bool, Trouble> {
            self.answer(event.get().is_some())
        }

        fn elapsed_ms(&self, from: &Self::Event, to: &Self::Event) -> Result<f32, Trouble> {
            let (from, to) = (from.get().expect("has happened"), to.get().expect("has happened"));
            self.answer(((to as f64 - from as f64) / 1e6) as f32)
        }

        fn wait(&self, _: &Self::Event) -> Result<(), Trouble> {
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
    fn kernels_lie_inside_the_windows_of_the_host_in_order_and_with_arrows() {
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
                assert_eq!(timeline.collect().unwrap(), 0, "it has not run, and nobody waits");
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
    fn what_finds_no_slot_is_counted_and_slots_come_back() {
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
    fn a_lost_device_is_an_error_value_and_all_that_was_on_its_way_is_counted() {
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
    fn a_kernel_after_a_long_pause_has_its_length_to_the_microsecond() {
        let (device, mut timeline) = timeline(3);
        recorded(|| {
            // An hour in milliseconds leaves a float no digits below a quarter of one.
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
            assert_eq!(timeline.base_nanos, begin, "times count from here now");
            let (next, _) = launch_long(&mut timeline);
            assert!(next > end && (next - begin) % 250_000 != 0);
        });
    }
}
