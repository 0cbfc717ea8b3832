//! Timelines of devices whose commands report when they ran: OpenCL and Metal.

use crate::clock_map::ClockMap;
use crate::counts::Counts;
use crate::device_track::DeviceTrack;
use crate::driver_failure::DriverFailure;
use crate::launch::{Done, Launch};
use ferrum_trace::Timestamp;
use std::collections::VecDeque;

/// An enqueued command.
pub(crate) trait Command {
    /// Begin and end in nanoseconds of the device; `None` if it has not ended. Does not wait.
    fn times(&self) -> Result<Option<(u64, u64)>, DriverFailure>;
}

/// A track and its pending commands, at most one per slot.
#[derive(Debug)]
pub(crate) struct CommandTimeline<C> {
    track: DeviceTrack,
    slots: usize,
    pending: VecDeque<(Launch, C)>,
    lost: Option<DriverFailure>,
}

impl<C: Command> CommandTimeline<C> {
    pub(crate) fn new(name: &str, slots: usize) -> Self {
        Self { track: DeviceTrack::new(name), slots, pending: VecDeque::new(), lost: None }
    }

    /// Call before a command is enqueued.
    pub(crate) fn launch(&mut self, name: &'static str, category: &'static str) -> Option<Launch> {
        // A launch that will not be measured must not start a flow.
        if !ferrum_trace::is_on() || !self.is_alive() || !self.has_room() {
            return None;
        }
        self.track.launch(name, category)
    }

    /// Call after the command was enqueued or failed to be.
    pub(crate) fn launched(&mut self, launch: Launch, command: Result<C, DriverFailure>) {
        match command {
            // Commands launched in between may have taken the slot.
            Ok(command) if self.has_room() => self.pending.push_back((launch, command)),
            Ok(_) => {}
            Err(error) => self.lose(error),
        }
    }

    /// Counts a launched command as lost.
    pub(crate) fn lose(&mut self, error: DriverFailure) {
        self.track.count_lost(1);
        if error.is_lost {
            self.lost = Some(error);
        }
    }

    /// Records the commands that have ended, and returns their number. Never waits.
    pub(crate) fn collect(&mut self) -> Result<u64, DriverFailure> {
        let mut done = Vec::new();
        let mut failed = None;
        for _ in 0..self.pending.len() {
            let Some((launch, command)) = self.pending.pop_front() else {
                break;
            };
            let times = match &self.lost {
                Some(error) => Err(error.clone()),
                None => command.times(),
            };
            match times {
                Ok(Some((begin, end))) => done.push(Done { launch, begin, end, noticed: Timestamp::now() }),
                Ok(None) => self.pending.push_back((launch, command)),
                Err(error) => {
                    failed = Some(error.clone());
                    self.lose(error);
                }
            }
        }
        let before = self.counts().recorded;
        self.track.record(&done);
        match self.lost.clone().or(failed) {
            Some(error) => Err(error),
            None => Ok(self.counts().recorded - before),
        }
    }

    pub(crate) fn clock_mut(&mut self) -> &mut ClockMap {
        self.track.clock_mut()
    }

    pub(crate) fn counts(&self) -> Counts {
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

    /// A command whose result the test sets.
    type StandIn = Rc<RefCell<Result<Option<(u64, u64)>, DriverFailure>>>;

    impl Command for StandIn {
        fn times(&self) -> Result<Option<(u64, u64)>, DriverFailure> {
            self.borrow().clone()
        }
    }

    /// The simulated clock is far ahead of the host's.
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

    fn failure(is_lost: bool) -> DriverFailure {
        DriverFailure { message: "no".into(), is_lost }
    }

    #[test]
    fn ended_commands_are_recorded_and_the_others_stay_pending() {
        let mut timeline = CommandTimeline::new("GPU 0", 8);
        let trace = recorded(|| {
            let before = Timestamp::now().monotonic_nanos();
            timeline.clock_mut().between(device_now(), (before, Timestamp::now().monotonic_nanos()));
            let commands: Vec<StandIn> = (0..3).map(|_| launch(&mut timeline)).collect();
            assert_eq!(timeline.collect(), Ok(0));
            *commands[1].borrow_mut() = Ok(Some((device_now(), device_now())));
            assert_eq!(timeline.collect(), Ok(1));
            // A failure is reported once and does not affect other commands.
            *commands[0].borrow_mut() = Err(failure(false));
            *commands[2].borrow_mut() = Ok(Some((device_now(), device_now())));
            assert_eq!(timeline.collect(), Err(failure(false)));
            assert_eq!(timeline.collect(), Ok(0));
        });
        assert_eq!(timeline.counts(), Counts { recorded: 2, lost: 1, ..Counts::default() });
        assert_eq!(trace.count("command"), 2);
        assert_eq!(trace.named("flow").filter(|event| event.phase == 'f').count(), 2);
    }

    #[test]
    fn a_command_without_a_free_slot_is_counted_as_dropped() {
        let mut timeline = CommandTimeline::new("GPU 0", 2);
        let trace = recorded(|| {
            (0..5).for_each(|_| drop(launch(&mut timeline)));
        });
        assert_eq!(trace.named("flow").count(), 2, "a dropped command starts no flow");
        assert_eq!(timeline.counts(), Counts { dropped: 3, ..Counts::default() });
    }

    #[test]
    fn all_pending_commands_of_a_lost_device_are_lost_and_it_stays_lost() {
        let mut timeline = CommandTimeline::new("GPU 0", 8);
        recorded(|| {
            let commands: Vec<StandIn> = (0..3).map(|_| launch(&mut timeline)).collect();
            *commands[0].borrow_mut() = Err(failure(true));
            assert_eq!(timeline.collect(), Err(failure(true)));
            launch(&mut timeline);
            assert_eq!(timeline.collect(), Err(failure(true)));
        });
        assert_eq!(timeline.counts(), Counts { lost: 4, ..Counts::default() });
    }

    #[test]
    fn invalid_times_are_counted_as_lost() {
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
