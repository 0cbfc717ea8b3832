//! Timelines of devices whose commands can be asked when they ran: those of OpenCL and Metal.

use crate::clock_map::ClockMap;
use crate::counts::Counts;
use crate::device_track::DeviceTrack;
use crate::launch::{Done, Launch};
use crate::trouble::Trouble;
use ferrum_trace::Timestamp;
use std::collections::VecDeque;

/// Something that was enqueued.
pub trait Command {
    /// When it began and ended, in nanoseconds of the device; `None` if it has not ended. Does not wait.
    fn times(&self) -> Result<Option<(u64, u64)>, Trouble>;
}

/// A row, and what is on its way, of which there is no more than there are slots.
#[derive(Debug)]
pub struct CommandTimeline<C> {
    track: DeviceTrack,
    slots: usize,
    pending: VecDeque<(Launch, C)>,
    lost: Option<Trouble>,
}

impl<C: Command> CommandTimeline<C> {
    pub fn new(name: &str, slots: usize) -> Self {
        Self { track: DeviceTrack::new(name), slots, pending: VecDeque::new(), lost: None }
    }

    /// Before a command is enqueued.
    pub fn launch(&mut self, name: &'static str, category: &'static str) -> Option<Launch> {
        // No arrow leaves for what will not be measured.
        if !ferrum_trace::is_on() || !self.is_alive() || !self.has_room() {
            return None;
        }
        self.track.launch(name, category)
    }

    /// After it was enqueued, or not.
    pub fn launched(&mut self, launch: Launch, command: Result<C, Trouble>) {
        match command {
            // What was launched before may have taken the room since.
            Ok(command) if self.has_room() => self.pending.push_back((launch, command)),
            Ok(_) => {}
            Err(trouble) => self.lose(trouble),
        }
    }

    /// A command that was launched will never be known.
    pub fn lose(&mut self, trouble: Trouble) {
        self.track.count_lost(1);
        if trouble.is_lost {
            self.lost = Some(trouble);
        }
    }

    /// Records what has ended, and returns how much that was. Never waits.
    pub fn collect(&mut self) -> Result<u64, Trouble> {
        let mut done = Vec::new();
        let mut failed = None;
        for _ in 0..self.pending.len() {
            let Some((launch, command)) = self.pending.pop_front() else {
                break;
            };
            let times = match &self.lost {
                Some(trouble) => Err(trouble.clone()),
                None => command.times(),
            };
            match times {
                Ok(Some((begin, end))) => done.push(Done { launch, begin, end, noticed: Timestamp::now() }),
                Ok(None) => self.pending.push_back((launch, command)),
                Err(trouble) => {
                    failed = Some(trouble.clone());
                    self.lose(trouble);
                }
            }
        }
        let before = self.counts().recorded;
        self.track.record(&done);
        match self.lost.clone().or(failed) {
            Some(trouble) => Err(trouble),
            None => Ok(self.counts().recorded - before),
        }
    }

    pub fn clock_mut(&mut self) -> &mut ClockMap {
        self.track.clock_mut()
    }

    pub fn counts(&self) -> Counts {
        self.track.counts()
    }

    fn is_alive(&mut self) -> bool {
        let is_alive = self.lost.is_none();
        self.track.count_lost(u64::from(!is_alive));
        is_alive
    }

    fn has_room(&mut self) -> bool {
        let has_room = self.pending.len() < self.slots;
        self.track.count_dropped(u64::from(!has_room));
        has_room
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stand_in::recorded;
    use ferrum_trace::span;
    use std::cell::RefCell;
    use std::rc::Rc;

    /// A command whose answer the test decides.
    type StandIn = Rc<RefCell<Result<Option<(u64, u64)>, Trouble>>>;

    impl Command for StandIn {
        fn times(&self) -> Result<Option<(u64, u64)>, Trouble> {
            self.borrow().clone()
        }
    }

    /// The clock of the stand-in is far ahead of the host's.
    fn device_now() -> u64 {
        Timestamp::now().monotonic_nanos() + 5_000_000_000
    }

    fn launch(timeline: &mut CommandTimeline<StandIn>) -> StandIn {
        let command: StandIn = Rc::new(RefCell::new(Ok(None)));
        let _span = span!("launch", "scheduler");
        if let Some(launch) = timeline.launch("command", "gemm") {
            timeline.launched(launch, Ok(Rc::clone(&command)));
        }
        command
    }

    fn trouble(is_lost: bool) -> Trouble {
        Trouble { message: "no".into(), is_lost }
    }

    #[test]
    fn what_has_ended_is_recorded_and_the_rest_waits_for_its_turn() {
        let mut timeline = CommandTimeline::new("GPU 0", 8);
        let trace = recorded(|| {
            let before = Timestamp::now().monotonic_nanos();
            timeline.clock_mut().between(device_now(), (before, Timestamp::now().monotonic_nanos()));
            let commands: Vec<StandIn> = (0..3).map(|_| launch(&mut timeline)).collect();
            assert_eq!(timeline.collect(), Ok(0));
            *commands[1].borrow_mut() = Ok(Some((device_now(), device_now())));
            assert_eq!(timeline.collect(), Ok(1));
            // What failed is told once, and keeps nobody else from ending.
            *commands[0].borrow_mut() = Err(trouble(false));
            *commands[2].borrow_mut() = Ok(Some((device_now(), device_now())));
            assert_eq!(timeline.collect(), Err(trouble(false)));
            assert_eq!(timeline.collect(), Ok(0));
        });
        assert_eq!(timeline.counts(), Counts { recorded: 2, lost: 1, ..Counts::default() });
        assert_eq!(trace.count("command"), 2);
        assert_eq!(trace.named("flow").filter(|event| event.phase == 'f').count(), 2);
    }

    #[test]
    fn what_finds_no_slot_is_counted() {
        let mut timeline = CommandTimeline::new("GPU 0", 2);
        let trace = recorded(|| {
            (0..5).for_each(|_| drop(launch(&mut timeline)));
        });
        assert_eq!(trace.named("flow").count(), 2, "no arrow leaves for what is not measured");
        assert_eq!(timeline.counts(), Counts { dropped: 3, ..Counts::default() });
    }

    #[test]
    fn a_lost_device_takes_all_with_it_and_stays_lost() {
        let mut timeline = CommandTimeline::new("GPU 0", 8);
        recorded(|| {
            let commands: Vec<StandIn> = (0..3).map(|_| launch(&mut timeline)).collect();
            *commands[0].borrow_mut() = Err(trouble(true));
            assert_eq!(timeline.collect(), Err(trouble(true)));
            launch(&mut timeline);
            assert_eq!(timeline.collect(), Err(trouble(true)));
        });
        assert_eq!(timeline.counts(), Counts { lost: 4, ..Counts::default() });
    }

    #[test]
    fn times_that_make_no_sense_are_counted() {
        let mut timeline = CommandTimeline::new("GPU 0", 8);
        recorded(|| {
            for times in [(0, 5), (9, 5)] {
                *launch(&mut timeline).borrow_mut() = Ok(Some(times));
            }
            assert_eq!(timeline.collect(), Ok(0));
        });
        assert_eq!(timeline.counts(), Counts { lost: 2, ..Counts::default() });
    }
}
