//! Maps a device's clock to the host's.
//!
//! Everything is derived from order: a device cannot begin work before it was launched, and cannot end it after the
//! host noticed the end. Each such fact bounds the offset between the clocks from one side:
//!
//! ```text
//!  host   ──┬──────────────────────────┬──▶    launched ≤ begin + offset
//!        launched                   noticed    end + offset ≤ noticed
//!  device ────────┬─────────┬─────────────▶    so offset is between launched − begin and noticed − end
//!               begin      end
//! ```
//!
//! The offset is in the intersection of these bounds, the [`Band`]. A calibration round is a fact with little time
//! between the two reads of the host's clock, but every collected result helps too. Clocks also run at different rates,
//! so a band widens by the possible drift until the next fact narrows it; the drift is known better the longer it is
//! observed.

use std::collections::VecDeque;

/// Largest difference between the rates of two clocks that is assumed at the start, in parts per billion: crystals are
/// within 100 ppm, and synchronized clocks are corrected at about that rate.
const DRIFT_MAX_PPB: i64 = 100_000;
/// Smallest uncertainty of a drift: rates change with the temperature.
const DRIFT_MIN_PPB: i64 = 2_000;
/// Duration over which facts are gathered for one estimate of the drift.
const EPOCH_NANOS: u64 = 250_000_000;
/// Number of epochs after which the drift is measured from a newer baseline: one minute.
const BASELINE_EPOCHS: u32 = 240;
/// Number of lines that are kept; earlier times are mapped by the oldest.
const LINES: usize = 64;
/// Number of earlier bands that are kept, for times that are closer to them than to the latest.
const BANDS: usize = 16;
/// Minimum distance between two of them.
const BANDS_APART_NANOS: u64 = 1_000_000;
const BILLION: i128 = 1_000_000_000;

/// Offset and drift between a device's clock and the host's monotonic clock. All times are in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct ClockMap {
    band: Option<Band>,
    /// Bands of earlier times.
    earlier: VecDeque<Band>,
    drift: Drift,
    /// Band from the facts of this epoch only.
    epoch: Option<Epoch>,
    /// Band of an earlier epoch, from which the drift is measured, and its age in epochs.
    baseline: Option<(Band, u32)>,
    /// The mapping in use, in pieces. Pieces are only added at the end, so that a time is always mapped to the same
    /// result.
    lines: VecDeque<MappingLine>,
    /// The latest device time that was mapped.
    frontier: Option<u64>,
    n_conflicts: u64,
}

/// A device time on the host's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// Nanoseconds of the host's monotonic clock.
    pub host: u64,
    /// Upper bound of the error in nanoseconds.
    pub error: u64,
}

/// Bounds of the offset from device to host at one device time.
#[derive(Clone, Copy, Debug)]
struct Band {
    at: u64,
    low: i64,
    high: i64,
}

/// Bounds of the change of the offset, in nanoseconds per second of the device.
#[derive(Clone, Copy, Debug)]
struct Drift {
    low: i64,
    high: i64,
}

#[derive(Clone, Copy, Debug)]
struct Epoch {
    begin: u64,
    band: Band,
}

/// `device + offset + drift`, but never before `floor`, so that the mapping is monotonic where a line begins.
#[derive(Clone, Copy, Debug)]
struct MappingLine {
    from: u64,
    floor: u64,
    at: u64,
    offset: i64,
    drift: i64,
}

impl ClockMap {
    /// Creates a map without facts.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a fact: the device's clock read `device` after the host's clock read `host`.
    pub fn not_before(&mut self, device: u64, host: u64) {
        self.learn(Band { at: device, low: difference(host, device), high: i64::MAX });
    }

    /// Adds a fact: the device's clock read `device` before the host's clock read `host`.
    pub fn not_after(&mut self, device: u64, host: u64) {
        self.learn(Band { at: device, low: i64::MIN, high: difference(host, device) });
    }

    /// Adds a fact: the device's clock read `device` between two reads of the host's clock.
    pub fn between(&mut self, device: u64, (before, after): (u64, u64)) {
        self.not_before(device, before);
        self.not_after(device, after);
    }

    /// Number of facts that contradicted all earlier ones: a clock was set, or its rate changed.
    pub fn n_conflicts(&self) -> u64 {
        self.n_conflicts
    }

    /// Uncertainty of the offset at a device time, in either direction; `None` while it is unbounded. The mapping's
    /// error cannot be smaller.
    pub fn uncertainty(&self, device: u64) -> Option<u64> {
        let band = self.band.filter(Band::is_closed)?;
        Some(band.moved_to(device, self.drift).half_width())
    }

    /// Updates the mapping with the facts so far, from the latest mapped time on.
    pub fn settle(&mut self) {
        let Some(band) = self.band.filter(Band::is_closed) else {
            return;
        };
        self.remember(band);
        let line = MappingLine { from: 0, floor: 0, at: band.at, offset: band.middle(), drift: self.drift.middle() };
        let Some(frontier) = self.frontier else {
            self.lines.clear();
            self.lines.push_back(line);
            return;
        };
        let now = self.host_of(frontier);
        // A step in the mapping is worth it only if it corrects a good part of the error.
        if now.is_some_and(|host| host.abs_diff(line.host_of(frontier)) <= band.half_width() / 4) {
            return;
        }
        self.lines.push_back(MappingLine { from: frontier, floor: now.unwrap_or(0), ..line });
        if self.lines.len() > LINES {
            self.lines.pop_front();
        }
    }

    /// Maps a device time to the host's clock; `None` before there is a mapping. Later times are never mapped before
    /// earlier ones.
    pub fn map(&mut self, device: u64) -> Option<Mapped> {
        let host = self.host_of(device)?;
        let band = self.band_at(device)?;
        self.frontier = Some(self.frontier.map_or(device, |frontier| frontier.max(device)));
        let offset = difference(host, device);
        let error = offset.saturating_sub(band.low).max(band.high.saturating_sub(offset));
        Some(Mapped { host, error: u64::try_from(error).unwrap_or(0) })
    }

    /// The band at a device time, from the latest and all earlier bands.
    fn band_at(&self, device: u64) -> Option<Band> {
        let latest = self.band?.moved_to(device, self.drift);
        let narrowed = |band: Band, earlier: &Band| {
            let earlier = earlier.moved_to(device, self.drift);
            band.narrowed_by(earlier, self.drift).unwrap_or(band)
        };
        Some(self.earlier.iter().fold(latest, narrowed))
    }

    fn remember(&mut self, band: Band) {
        if self.earlier.back().is_some_and(|last| band.at.abs_diff(last.at) < BANDS_APART_NANOS) {
            return;
        }
        if self.earlier.len() >= BANDS {
            self.earlier.pop_front();
        }
        self.earlier.push_back(band);
    }

    fn host_of(&self, device: u64) -> Option<u64> {
        let line = self.lines.iter().rev().find(|line| line.from <= device).or(self.lines.front())?;
        Some(line.host_of(device))
    }

    fn learn(&mut self, fact: Band) {
        let known = self.band.map_or(Some(fact), |band| band.narrowed_by(fact, self.drift));
        if known.is_none() {
            self.n_conflicts += 1;
            *self = Self { n_conflicts: self.n_conflicts, ..self.with_mapping_before(fact.at) };
        }
        self.band = known.or(Some(fact));
        self.learn_drift(fact);
    }

    /// Discards all facts but keeps the mapping, unless the device's clock went back to times that were mapped already.
    fn with_mapping_before(&mut self, device: u64) -> Self {
        if self.frontier.is_some_and(|frontier| device < frontier) {
            return Self::default();
        }
        Self { lines: std::mem::take(&mut self.lines), frontier: self.frontier, ..Self::default() }
    }

    fn learn_drift(&mut self, fact: Band) {
        let epoch = self.epoch.get_or_insert(Epoch { begin: fact.at, band: fact });
        match epoch.band.narrowed_by(fact, self.drift) {
            Some(band) if fact.at.saturating_sub(epoch.begin) < EPOCH_NANOS || !band.is_closed() => epoch.band = band,
            Some(band) => {
                self.epoch = None;
                self.end_epoch(band);
            }
            // The main band is in conflict too, and starts over.
            None => self.epoch = None,
        }
    }

    fn end_epoch(&mut self, band: Band) {
        let (baseline, n_epochs) = *self.baseline.get_or_insert((band, 0));
        if let Some(drift) = band.drift_since(baseline) {
            self.drift = drift;
        }
        self.baseline = Some(if n_epochs < BASELINE_EPOCHS { (baseline, n_epochs + 1) } else { (band, 0) });
    }
}

impl Band {
    fn is_closed(&self) -> bool {
        self.low != i64::MIN && self.high != i64::MAX
    }

    fn middle(&self) -> i64 {
        self.low + (self.half_width() as i64)
    }

    fn half_width(&self) -> u64 {
        self.high.abs_diff(self.low) / 2
    }

    /// The band at another time, widened by the possible drift.
    fn moved_to(self, at: u64, drift: Drift) -> Self {
        let elapsed = i128::from(at) - i128::from(self.at);
        let changes = [drift.low, drift.high].map(|ppb| clamped(elapsed * i128::from(ppb) / BILLION));
        let (least, most) = (changes[0].min(changes[1]), changes[0].max(changes[1]));
        // An open side stays open.
        let low = if self.low == i64::MIN { i64::MIN } else { self.low.saturating_add(least) };
        let high = if self.high == i64::MAX { i64::MAX } else { self.high.saturating_add(most) };
        Self { at, low, high }
    }

    /// The intersection of two bands, at the later of their times; `None` if they contradict each other.
    fn narrowed_by(self, fact: Self, drift: Drift) -> Option<Self> {
        let at = self.at.max(fact.at);
        let (known, fact) = (self.moved_to(at, drift), fact.moved_to(at, drift));
        let both = Self { at, low: known.low.max(fact.low), high: known.high.min(fact.high) };
        (both.low <= both.high).then_some(both)
    }

    /// The drift from an earlier band to this one, if they are far enough apart.
    fn drift_since(&self, earlier: Self) -> Option<Drift> {
        let elapsed = i128::from(self.at.checked_sub(earlier.at)?);
        if elapsed < i128::from(EPOCH_NANOS) / 2 {
            return None;
        }
        let rate = |from: i64, to: i64| clamped((i128::from(to) - i128::from(from)) * BILLION / elapsed);
        let (low, high) = (rate(earlier.high, self.low), rate(earlier.low, self.high));
        let middle = low / 2 + high / 2;
        let spread = (high.saturating_sub(low) / 2).max(DRIFT_MIN_PPB);
        // Stay within the limits that were assumed at the start.
        let within = |ppb: i64| ppb.clamp(-DRIFT_MAX_PPB, DRIFT_MAX_PPB);
        Some(Drift { low: within(middle.saturating_sub(spread)), high: within(middle.saturating_add(spread)) })
    }
}

impl Default for Drift {
    fn default() -> Self {
        Self { low: -DRIFT_MAX_PPB, high: DRIFT_MAX_PPB }
    }
}

impl Drift {
    fn middle(self) -> i64 {
        (self.low + self.high) / 2
    }
}

impl MappingLine {
    fn host_of(&self, device: u64) -> u64 {
        let elapsed = i128::from(device) - i128::from(self.at);
        let host = i128::from(device) + i128::from(self.offset) + elapsed * i128::from(self.drift) / BILLION;
        let host = u64::try_from(host.max(0)).unwrap_or(u64::MAX);
        if device >= self.from { host.max(self.floor) } else { host }
    }
}

fn difference(host: u64, device: u64) -> i64 {
    clamped(i128::from(host) - i128::from(device))
}

/// Excludes the two extreme values, which stand for open sides of a band.
fn clamped(nanos: i128) -> i64 {
    nanos.clamp(i128::from(i64::MIN + 1), i128::from(i64::MAX - 1)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MILLI: u64 = 1_000_000;

    #[test]
    fn nothing_is_mapped_before_both_bounds_are_known() {
        let mut map = ClockMap::new();
        map.settle();
        assert_eq!(map.map(5), None);
        map.not_before(100, 1_100);
        map.settle();
        assert_eq!(map.map(100), None, "one bound is not enough");
    }

    #[test]
    fn the_offset_is_in_the_intersection_of_all_facts() {
        let mut map = ClockMap::new();
        map.between(1_000, (9_000, 19_000));
        map.between(2_000, (12_500, 32_000));
        map.between(3_000, (3_000, 14_000));
        map.settle();
        // The intersection of 8000..18000, 10500..30000 and 0..11000 is 10500..11000.
        assert_eq!(map.map(4_000), Some(Mapped { host: 14_750, error: 250 }));
        assert_eq!(map.n_conflicts(), 0);
    }

    #[test]
    fn the_error_grows_with_the_possible_drift() {
        let mut map = ClockMap::new();
        map.between(0, (1_000, 3_000));
        map.settle();
        assert_eq!(map.map(0).unwrap().error, 1_000);
        // 100 ppm of 50 ms.
        assert_eq!(map.map(50 * MILLI).unwrap().error, 6_000);
    }

    #[test]
    fn a_steady_drift_is_learned() {
        let mut map = ClockMap::new();
        // The host's clock gains 15 µs per second.
        let host = |device: u64| 777_000_000 + device + device / 1_000_000 * 15;
        for i in 0..100 {
            let device = i * 50 * MILLI;
            map.between(device, (host(device) - 4_000, host(device) + 6_000));
            map.settle();
            let mapped = map.map(device).unwrap();
            assert!(mapped.host.abs_diff(host(device)) <= mapped.error);
        }
        // Half a second later, without another fact.
        let later = map.map(5_500 * MILLI).unwrap();
        assert!(later.host.abs_diff(host(5_500 * MILLI)) <= later.error);
        assert!(later.error < 10_000, "{later:?}");
        assert_eq!(map.n_conflicts(), 0);
    }

    #[test]
    fn a_time_near_an_earlier_fact_has_the_error_of_that_fact() {
        let mut map = ClockMap::new();
        map.between(0, (1_000, 3_000));
        map.settle();
        map.between(400 * MILLI, (400 * MILLI, 400 * MILLI + 100_000));
        map.settle();
        let mapped = map.map(10 * MILLI).unwrap();
        // The latest fact alone would give an error of 39 µs.
        assert!(mapped.error < 25_000, "{mapped:?}");
    }

    #[test]
    fn a_clock_that_was_set_is_followed_and_counted() {
        let mut map = ClockMap::new();
        map.between(1_000, (5_000, 6_000));
        map.settle();
        assert_eq!(map.map(1_000).unwrap().host, 5_500);
        map.between(2_000, (1_005_000, 1_006_000));
        map.settle();
        assert_eq!(map.map(2_000), Some(Mapped { host: 1_005_500, error: 500 }));
        assert_eq!(map.n_conflicts(), 1);
        assert_eq!(map.map(900).unwrap().host, 5_400, "the mapping of earlier times does not change");
    }

    #[test]
    fn a_counter_that_begins_again_is_followed() {
        let mut map = ClockMap::new();
        let wrap = 1 << 36;
        map.between(wrap - 1_000, (5_000, 6_000));
        map.settle();
        assert_eq!(map.map(wrap - 1_000).unwrap().host, 5_500);
        for device in [0, 1_000] {
            map.between(device, (device + 6_000, device + 7_000));
            map.settle();
            assert_eq!(map.map(device), Some(Mapped { host: device + 6_500, error: 500 }));
        }
        assert_eq!(map.n_conflicts(), 1);
    }

    #[test]
    fn extreme_times_do_not_overflow() {
        let mut map = ClockMap::new();
        for (device, host) in [(u64::MAX, 0), (0, u64::MAX), (u64::MAX, u64::MAX), (0, 0)] {
            map.between(device, (host, host));
            map.settle();
            let _ = map.map(device);
            let _ = map.map(u64::MAX - device);
        }
    }

    /// One fact: time since the last one, and distance of the host's reads before and after it.
    type Step = (u64, u64, u64);

    proptest! {
        #[test]
        fn the_true_time_is_within_the_error_and_the_mapping_is_monotonic(
            offset in -1_000_000_000_000i64..1_000_000_000_000,
            ppb in -50_000i64..50_000,
            steps in prop::collection::vec((1u64..40_000_000, 0u64..50_000, 0u64..50_000), 1..200),
        ) {
            let start = 2_000_000_000_000u64;
            let truth = |device: u64| {
                let drift = (device - start) as i128 * ppb as i128 / BILLION;
                (device as i128 + offset as i128 + drift) as u64
            };
            let mut map = ClockMap::new();
            let mut device = start;
            let mut last = 0;
            for (later, before, after) in steps as Vec<Step> {
                device += later;
                map.between(device, (truth(device) - before, truth(device) + after));
                map.settle();
                for at in [device - later / 2, device] {
                    let mapped = map.map(at).unwrap();
                    // Both sides round to a nanosecond.
                    prop_assert!(mapped.host.abs_diff(truth(at)) <= mapped.error + 2, "{:?} {}", mapped, truth(at));
                }
                let host = map.map(device).unwrap().host;
                prop_assert!(host >= last);
                last = host;
            }
            prop_assert_eq!(map.n_conflicts(), 0);
        }
    }
}
