//! Converts times of any clock to the clock of the trace.

use crate::perfetto::field::clock;
use std::collections::HashMap;

/// Maximum number of comparisons with the clock of the trace that are kept per clock; the oldest are removed first.
const KEPT_MAX: usize = 1024;
/// Maximum number of clocks.
const CLOCKS_MAX: usize = 4096;

/// A clock: ids from 64 to 127 belong to a sequence, all others have sequence zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ClockId {
    sequence: u32,
    id: u64,
}

impl ClockId {
    /// Returns the clock that a packet of a sequence refers to.
    pub(crate) fn new(sequence: u32, id: u64) -> Self {
        let is_of_sequence = (clock::FIRST_OF_SEQUENCE..clock::FIRST_GLOBAL).contains(&id);
        Self { sequence: if is_of_sequence { sequence } else { 0 }, id }
    }
}

/// One clock of a snapshot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub clock: ClockId,
    pub timestamp: u64,
    pub is_incremental: bool,
    pub unit_ns: u64,
}

#[derive(Debug, Default)]
struct Clock {
    is_incremental: bool,
    unit_ns: u64,
    /// The last time on an incremental clock, in nanoseconds.
    last: u64,
    /// Pairs of this clock's time and the trace's time, in the order of comparison.
    compared: Vec<(u64, u64)>,
}

/// All clocks of a trace.
#[derive(Debug)]
pub(crate) struct Clocks {
    clocks: HashMap<ClockId, Clock>,
    /// The clock of the trace.
    of_trace: u64,
}

/// A time, converted to the clock of the trace if possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Time {
    OfTrace(u64),
    AsItStands(u64),
}

impl Clocks {
    pub(crate) fn new() -> Self {
        Self { clocks: HashMap::new(), of_trace: clock::BOOTTIME }
    }

    /// Adds a snapshot of all clocks at one moment.
    pub(crate) fn snapshot(&mut self, readings: &[Reading], primary: Option<u64>) {
        if let Some(primary) = primary.filter(|&primary| primary != 0) {
            self.of_trace = primary;
        }
        let in_ns = |reading: &Reading| reading.timestamp.saturating_mul(reading.unit_ns.max(1));
        let of_trace = readings.iter().find(|reading| reading.clock == ClockId::new(0, self.of_trace)).map(in_ns);
        // If the snapshot lacks the clock of the trace, another clock that was compared with it is used.
        let by_another = || readings.iter().find_map(|reading| self.compare(reading.clock, in_ns(reading)));
        let of_trace = of_trace.or_else(by_another);
        for reading in readings {
            if self.clocks.len() >= CLOCKS_MAX && !self.clocks.contains_key(&reading.clock) {
                continue;
            }
            let clock = self.clocks.entry(reading.clock).or_default();
            (clock.is_incremental, clock.unit_ns) = (reading.is_incremental, reading.unit_ns.max(1));
            clock.last = in_ns(reading);
            if let Some(of_trace) = of_trace {
                if clock.compared.len() >= KEPT_MAX {
                    clock.compared.drain(..KEPT_MAX / 2);
                }
                clock.compared.push((clock.last, of_trace));
            }
        }
    }

    /// Converts a timestamp on a clock to the time of the trace.
    pub(crate) fn time(&mut self, id: ClockId, timestamp: u64) -> Time {
        let mut time = timestamp;
        if let Some(clock) = self.clocks.get_mut(&id) {
            time = timestamp.saturating_mul(clock.unit_ns);
            if clock.is_incremental {
                clock.last = clock.last.saturating_add(time);
                time = clock.last;
            }
        }
        if id == ClockId::new(0, self.of_trace) {
            return Time::OfTrace(time);
        }
        self.compare(id, time).map_or(Time::AsItStands(time), Time::OfTrace)
    }

    /// Converts by the last comparison before the time, or by the first comparison.
    fn compare(&self, id: ClockId, time: u64) -> Option<u64> {
        let compared = &self.clocks.get(&id)?.compared;
        let (from, to) = compared.iter().rev().find(|(from, _)| *from <= time).or(compared.first())?;
        let time = i128::from(time) - i128::from(*from) + i128::from(*to);
        Some(time.clamp(0, i128::from(u64::MAX)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(clock: ClockId, timestamp: u64) -> Reading {
        Reading { clock, timestamp, is_incremental: false, unit_ns: 1 }
    }

    #[test]
    fn times_are_converted_by_the_last_snapshot_before_them() {
        let mut clocks = Clocks::new();
        let [trace, monotonic] = [clock::BOOTTIME, 3].map(|id| ClockId::new(9, id));
        assert_eq!(clocks.time(trace, 5), Time::OfTrace(5));
        assert_eq!(clocks.time(monotonic, 5), Time::AsItStands(5));
        clocks.snapshot(&[reading(trace, 1000), reading(monotonic, 100)], None);
        clocks.snapshot(&[reading(trace, 3000), reading(monotonic, 200)], None);
        let times = [50, 150, 200, 300].map(|time| clocks.time(monotonic, time));
        assert_eq!(times, [950, 1050, 3000, 3100].map(Time::OfTrace));
        // Through a clock of an earlier snapshot.
        let other = ClockId::new(0, 200);
        clocks.snapshot(&[reading(other, 7), reading(monotonic, 250)], None);
        assert_eq!(clocks.time(other, 8), Time::OfTrace(3051));
    }

    #[test]
    fn an_incremental_clock_is_local_to_its_sequence() {
        let mut clocks = Clocks::new();
        let [one, other] = [1, 2].map(|sequence| ClockId::new(sequence, 64));
        let trace = ClockId::new(1, clock::BOOTTIME);
        for (id, start) in [(one, 1_000_000), (other, 5_000_000)] {
            let incremental = Reading { clock: id, timestamp: start / 1000, is_incremental: true, unit_ns: 1000 };
            clocks.snapshot(&[reading(trace, start), incremental], None);
        }
        assert_eq!(clocks.time(one, 5), Time::OfTrace(1_005_000));
        assert_eq!(clocks.time(other, 1), Time::OfTrace(5_001_000));
        assert_eq!(clocks.time(one, 5), Time::OfTrace(1_010_000));
    }
}
