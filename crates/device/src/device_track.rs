//! The track of a device.

use crate::clock_map::{ClockMap, Mapped};
use crate::counts::Counts;
use crate::launch::{Done, Launch};
use ferrum_trace::{Measured, Timestamp, Track};
use std::time::Duration;

/// A track, the device's clock, and counts of all launches by outcome.
///
/// The timelines of this crate are built on it. Use it directly for other devices.
///
/// ```
/// use ferrum_trace::{Timestamp, span};
/// use ferrum_trace_device::{DeviceTrack, Done};
/// # fn enqueue() {} fn device_times() -> (u64, u64) { (1, 2) }
/// let mut track = DeviceTrack::new("NPU 0");
/// let launch = {
///     let _span = span!("launch", "scheduler");
///     let launch = track.launch("gemm", "gemm"); // begins a flow
///     enqueue();
///     launch
/// };
/// // Later, with the times that the device reports, in nanoseconds of its clock.
/// let (begin, end) = device_times();
/// let done = launch.map(|launch| Done { launch, begin, end, noticed: Timestamp::now() });
/// track.record(done.as_slice());
/// ```
#[derive(Debug)]
pub struct DeviceTrack {
    track: Track,
    clock: ClockMap,
    counts: Counts,
}

impl DeviceTrack {
    /// Creates a track with this name.
    pub fn new(name: &str) -> Self {
        Self { track: Track::new(name), clock: ClockMap::new(), counts: Counts::default() }
    }

    /// Call before work is handed to the device, inside the span that does so. Returns `None` if nothing is recorded.
    pub fn launch(&self, name: &'static str, category: &'static str) -> Option<Launch> {
        ferrum_trace::is_on().then(|| Launch::here(name, category))
    }

    /// Records finished work. Adds all of it to the clock map first, then maps it.
    pub fn record(&mut self, done: &[Done]) {
        let (sensible, senseless): (Vec<&Done>, Vec<&Done>) = done.iter().partition(|done| done.is_sensible());
        self.counts.lost += senseless.len() as u64;
        for done in &sensible {
            self.clock.not_before(done.begin, done.launch.at.monotonic_nanos());
            self.clock.not_after(done.end, done.noticed.monotonic_nanos());
        }
        self.clock.settle();
        for done in sensible {
            match (self.clock.map(done.begin), self.clock.map(done.end)) {
                (Some(begin), Some(end)) => self.record_mapped(done, begin, end),
                _ => self.counts.lost += 1,
            }
        }
    }

    /// Counts work that was not measured because no slot was free.
    pub fn count_dropped(&mut self, n: u64) {
        self.counts.dropped += n;
    }

    /// Counts work that was begun but has no result.
    pub fn count_lost(&mut self, n: u64) {
        self.counts.lost += n;
    }

    /// Counts of all launches by outcome.
    pub fn counts(&self) -> Counts {
        Counts { clock_conflicts: self.clock.n_conflicts(), ..self.counts }
    }

    /// The map of the device's clock, to add facts to it.
    pub fn clock_mut(&mut self) -> &mut ClockMap {
        &mut self.clock
    }

    fn record_mapped(&mut self, done: &Done, begin: Mapped, end: Mapped) {
        let (launched, noticed) = (done.launch.at.monotonic_nanos(), done.noticed.monotonic_nanos());
        // Within the error, use the times that are in order. A mapping that is wrong by more than its error stays
        // visible.
        let begin_at = begin.host.max(launched.min(begin.host.saturating_add(begin.error)));
        let end_at = end.host.min(noticed.max(end.host.saturating_sub(end.error)));
        self.counts.recorded += 1;
        self.track.measured(&Measured {
            name: done.launch.name,
            category: done.launch.category,
            begin: Timestamp::from_monotonic_nanos(begin_at),
            end: Timestamp::from_monotonic_nanos(end_at.max(begin_at)),
            clock_error: Duration::from_nanos(begin.error.max(end.error)),
            flow: done.launch.flow,
        });
    }
}

impl Done {
    /// Zero is the value of a query that was not written.
    fn is_sensible(&self) -> bool {
        self.begin != 0 && self.begin <= self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stand_in::recorded;

    /// Records slices that are mapped to `offsets` nanoseconds from their launch, with an error of 1000, and an end
    /// that the host noticed 5000 after the launch. Returns the recorded begins and ends, in nanoseconds from the
    /// launch.
    fn drawn(offsets: [(i64, i64); 3]) -> Vec<(i64, i64)> {
        let mut launched = 0;
        let trace = recorded(|| {
            let mut track = DeviceTrack::new("NPU 0");
            let at = Timestamp::now() + Duration::from_secs(1);
            launched = at.monotonic_nanos();
            let launch = Launch { name: "kernel", category: "gemm", flow: None, at };
            let done = Done { launch, begin: 1, end: 2, noticed: at + Duration::from_nanos(5_000) };
            let mapped = |offset| Mapped { host: launched.strict_add_signed(offset), error: 1_000 };
            offsets.iter().for_each(|&(begin, end)| track.record_mapped(&done, mapped(begin), mapped(end)));
        });
        let origin = trace.about("start_monotonic_ns");
        let since_launch = |nanos: u64| (origin + nanos) as i64 - launched as i64;
        trace.named("kernel").map(|slice| (since_launch(slice.start_ns), since_launch(slice.end_ns))).collect()
    }

    #[test]
    fn times_are_put_in_order_only_within_their_error() {
        let drawn = drawn([(100, 4_000), (-400, 5_700), (-3_000, 9_000)]);
        assert_eq!(drawn, [(100, 4_000), (0, 5_000), (-2_000, 8_000)]);
    }
}
