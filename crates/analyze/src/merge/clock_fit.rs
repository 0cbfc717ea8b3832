//! Fits the mapping between two clocks to facts of order.
//!
//! An event on one host that waits for an event on another cannot end before that one has begun. Each such fact bounds
//! the offset between the two clocks from one side, at one time:
//!
//! ```text
//!  offset │   ▽ at most            ▽
//!         │        ▽         ▽          known: the offset runs between the two rows,
//!         │ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─   and its rate is bounded, so it also does between facts
//!         │     △        △
//!         │          △        △ at least
//!         └───────────────────────────▶ time
//! ```
//!
//! The line with the largest distance to both rows is the mapping; the largest possible distance of the offset from
//! that line, anywhere in the trace, bounds its error. No assumption is made about how long anything takes.

/// Largest difference between the rates of two clocks, in parts per billion: crystals are precise to 50 ppm each, and
/// clock synchronization adjusts them at about that rate.
const DRIFT_MAX_PPB: i64 = 200_000;
/// Largest deviation of a rate from its mean over the trace: rates change with the temperature, and when clocks are
/// synchronized.
const WANDER_MAX_PPB: i64 = 10_000;
const BILLION: i128 = 1_000_000_000;
/// Maximum number of facts of each side, spread over the trace.
const BUCKETS: usize = 1024;
/// Fraction of the best width that is sufficient. The smallest drift that reaches it is chosen.
const WORTHWHILE: f64 = 0.95;

/// Mapping from one clock to another: `time + offset + (time - at) * drift`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClockLine {
    /// The time at which the offset is `offset`.
    pub at: i64,
    /// Nanoseconds that are added.
    pub offset: i128,
    /// Additional nanoseconds per second.
    pub drift_ppb: i64,
}

impl ClockLine {
    /// A line without drift.
    pub(super) fn constant(offset: i128) -> Self {
        Self { at: 0, offset, drift_ppb: 0 }
    }

    /// Returns a time on the other clock. The mapping is monotonic.
    pub(super) fn apply(&self, time: i128) -> i128 {
        time + self.offset_at(time)
    }

    fn offset_at(&self, time: i128) -> i128 {
        self.offset + ((time - i128::from(self.at)) * i128::from(self.drift_ppb)).div_euclid(BILLION)
    }
}

/// Result of a fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// The offset is known up to an error.
    Bounded {
        /// The mapping.
        line: ClockLine,
        /// Largest error in nanoseconds.
        error: u64,
    },
    /// The offset is bounded from one side at most. These are the bounds at some time.
    Open {
        /// Lower bound.
        low: Option<i64>,
        /// Upper bound.
        high: Option<i64>,
    },
    /// The facts contradict each other.
    Contradictory,
}

/// Facts about the offset of one clock from another, over the trace of the former.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    span: (i64, i64),
    /// The tightest bound of each part of the trace: time and bound.
    low: Vec<Option<(i64, i64)>>,
    high: Vec<Option<(i64, i64)>>,
    n: u64,
}

impl Facts {
    /// Creates an empty set of facts about a trace with this time span.
    pub(super) fn new(span: (i64, i64)) -> Self {
        Self { span: (span.0, span.1.max(span.0)), low: vec![None; BUCKETS], high: vec![None; BUCKETS], n: 0 }
    }

    /// Returns the number of facts.
    pub(super) fn len(&self) -> u64 {
        self.n
    }

    /// Adds a lower bound of the offset at a time.
    pub(super) fn at_least(&mut self, at: i64, bound: i64) {
        self.n += 1;
        let place = self.bucket(at);
        let slot = &mut self.low[place];
        if slot.is_none_or(|(_, known)| bound > known) {
            *slot = Some((at, bound));
        }
    }

    /// Adds an upper bound of the offset at a time.
    pub(super) fn at_most(&mut self, at: i64, bound: i64) {
        self.n += 1;
        let place = self.bucket(at);
        let slot = &mut self.high[place];
        if slot.is_none_or(|(_, known)| bound < known) {
            *slot = Some((at, bound));
        }
    }

    fn bucket(&self, at: i64) -> usize {
        let (first, last) = (i128::from(self.span.0), i128::from(self.span.1));
        let place = (i128::from(at) - first) * BUCKETS as i128 / (last - first + 1);
        place.clamp(0, BUCKETS as i128 - 1) as usize
    }

    /// Returns the mapping that agrees best with the facts.
    pub(super) fn fit(&self) -> Fit {
        let Some(points) = Points::of(self) else {
            return self.open();
        };
        let drift = points.drift_of_widest();
        points.judge(drift, points.middle_offset(drift))
    }

    /// Returns the error of a constant offset, if it agrees with the facts.
    pub(super) fn judge(&self, offset: i64) -> Fit {
        let Some(points) = Points::of(self) else {
            return self.open();
        };
        let value = i128::from(offset) - i128::from(points.base);
        let agrees = |point: &Point| {
            point.low.is_none_or(|low| i128::from(low) <= value)
                && point.high.is_none_or(|high| value <= i128::from(high))
        };
        if !points.all.iter().all(agrees) {
            return Fit::Contradictory;
        }
        points.judge(0, i64::try_from(value).unwrap_or(0))
    }

    fn open(&self) -> Fit {
        let low = self.low.iter().flatten().map(|&(_, bound)| bound).max();
        let high = self.high.iter().flatten().map(|&(_, bound)| bound).min();
        Fit::Open { low, high }
    }
}

/// Bounds of the offset at a time, relative to a base.
#[derive(Clone, Copy, Debug)]
struct Point {
    at: i64,
    low: Option<i64>,
    high: Option<i64>,
}

/// Facts of both sides, in time order.
struct Points {
    all: Vec<Point>,
    /// Base of all bounds, which keeps them small.
    base: i64,
    /// Base of all times.
    middle: i64,
    span: (i64, i64),
}

impl Points {
    /// Returns `None` if one side has no bounds.
    fn of(facts: &Facts) -> Option<Self> {
        let (_, base) = facts.low.iter().flatten().next().copied()?;
        facts.high.iter().flatten().next()?;
        let relative = |bound: i64| bound.saturating_sub(base);
        let lows = facts.low.iter().flatten().map(|&(at, bound)| Point { at, low: Some(relative(bound)), high: None });
        let highs =
            facts.high.iter().flatten().map(|&(at, bound)| Point { at, low: None, high: Some(relative(bound)) });
        let mut all: Vec<Point> = lows.chain(highs).collect();
        all.sort_by_key(|point| point.at);
        let middle = facts.span.0 / 2 + facts.span.1 / 2;
        Some(Self { all, base, middle, span: facts.span })
    }

    fn since_middle(&self, at: i64) -> f64 {
        (i128::from(at) - i128::from(self.middle)) as f64
    }

    /// Returns the highest lower bound and the lowest upper bound, with a drift subtracted.
    fn gap(&self, drift_ppb: f64) -> (f64, f64) {
        let rate = drift_ppb / 1e9;
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        for point in &self.all {
            let moved = rate * self.since_middle(point.at);
            if let Some(bound) = point.low {
                low = low.max(bound as f64 - moved);
            }
            if let Some(bound) = point.high {
                high = high.min(bound as f64 - moved);
            }
        }
        (low, high)
    }

    fn width(&self, drift_ppb: f64) -> f64 {
        let (low, high) = self.gap(drift_ppb);
        high - low
    }

    /// Returns the drift at which a line has most room between the bounds; the smallest of those that are nearly as
    /// good.
    fn drift_of_widest(&self) -> i64 {
        let (mut from, mut to) = (-DRIFT_MAX_PPB as f64, DRIFT_MAX_PPB as f64);
        // The width is concave, so the larger of two values shows on which side the maximum is.
        while to - from > 0.5 {
            let (one, other) = (from + (to - from) / 3.0, to - (to - from) / 3.0);
            if self.width(one) < self.width(other) { from = one } else { to = other }
        }
        let best = (from + to) / 2.0;
        let enough = {
            let width = self.width(best);
            if width > 0.0 { WORTHWHILE * width } else { width }
        };
        let (mut little, mut much) = (0.0, best);
        for _ in 0..32 {
            let middle = (little + much) / 2.0;
            if self.width(middle) >= enough { much = middle } else { little = middle }
        }
        much.round() as i64
    }

    fn middle_offset(&self, drift_ppb: i64) -> i64 {
        let (low, high) = self.gap(drift_ppb as f64);
        ((low + high) / 2.0).round() as i64
    }

    /// Returns the error of a line.
    fn judge(&self, drift_ppb: i64, offset: i64) -> Fit {
        let line = ClockLine { at: self.middle, offset: i128::from(self.base) + i128::from(offset), drift_ppb };
        let narrow = self.rate_spread(drift_ppb);
        let wide = DRIFT_MAX_PPB + drift_ppb.abs();
        let error = narrow.and_then(|spread| self.error(&line, spread)).or_else(|| self.error(&line, wide));
        error.map_or(Fit::Contradictory, |error| Fit::Bounded { line, error })
    }

    /// Returns the largest deviation of the rate from that of a line, at most the allowed wander; `None` if the facts
    /// require more.
    fn rate_spread(&self, drift_ppb: i64) -> Option<i64> {
        let (mut least, mut most) = (-DRIFT_MAX_PPB as f64, DRIFT_MAX_PPB as f64);
        let wander = WANDER_MAX_PPB as f64;
        let lows = || self.all.iter().filter_map(|point| Some((point.at, point.low?)));
        let highs = || self.all.iter().filter_map(|point| Some((point.at, point.high?)));
        for (low_at, low) in lows() {
            for (high_at, high) in highs() {
                let elapsed = (i128::from(high_at) - i128::from(low_at)) as f64;
                let rate = (high as f64 - low as f64) / elapsed * 1e9;
                if elapsed > 0.0 {
                    most = most.min(rate + wander);
                } else if elapsed < 0.0 {
                    least = least.max(rate - wander);
                } else if high < low {
                    return None;
                }
            }
        }
        if least > most {
            return None;
        }
        let drift = drift_ppb as f64;
        Some(((most - drift).max(drift - least) + wander).ceil().max(wander) as i64)
    }

    /// Returns the largest distance between the line and the possible offsets, given the deviation of the rates. `None`
    /// if no offset is possible.
    fn error(&self, line: &ClockLine, spread_ppb: i64) -> Option<u64> {
        let moves = |from: i64, to: i64| {
            ((i128::from(to) - i128::from(from)).abs() * i128::from(spread_ppb) / BILLION).saturating_add(1)
        };
        let residual = |point: &Point, bound: i64| {
            i128::from(self.base) + i128::from(bound) - line.offset_at(i128::from(point.at))
        };
        let mut high: Vec<Option<i128>> =
            self.all.iter().map(|point| point.high.map(|bound| residual(point, bound))).collect();
        // As distances below the line, so that both sides are treated alike.
        let mut low: Vec<Option<i128>> =
            self.all.iter().map(|point| point.low.map(|bound| -residual(point, bound))).collect();
        let times: Vec<i64> = self.all.iter().map(|point| point.at).collect();
        for side in [&mut high, &mut low] {
            spread_over(&times, side, moves);
        }
        let mut error = 0;
        for (high, low) in high.iter().zip(&low) {
            // The rounding of the line may take a nanosecond from each side.
            if high.zip(*low).is_some_and(|(high, low)| high + low < -2) {
                return None;
            }
        }
        for side in [&high, &low] {
            error = error.max(peak(&times, side, self.span, moves)?);
        }
        Some(u64::try_from(error.max(0)).unwrap_or(u64::MAX))
    }
}

/// Derives bounds at each time from those at other times, since the offset changes at a limited rate.
fn spread_over(times: &[i64], bounds: &mut [Option<i128>], moves: impl Fn(i64, i64) -> i128) {
    let n = times.len();
    let tighter = |bounds: &mut [Option<i128>], from: usize, to: usize| {
        if let Some(known) = bounds[from] {
            let reached = known.saturating_add(moves(times[from], times[to]));
            bounds[to] = Some(bounds[to].map_or(reached, |bound| bound.min(reached)));
        }
    };
    for n in 1..n {
        tighter(bounds, n - 1, n);
    }
    for n in (1..n).rev() {
        tighter(bounds, n, n - 1);
    }
}

/// Returns the largest distance anywhere between the first time and the last: between two facts it grows from both
/// sides.
fn peak(
    times: &[i64],
    bounds: &[Option<i128>],
    (first, last): (i64, i64),
    moves: impl Fn(i64, i64) -> i128,
) -> Option<i128> {
    let (&first_time, &last_time) = (times.first()?, times.last()?);
    let known: Option<Vec<i128>> = bounds.iter().copied().collect();
    let known = known?;
    let mut peak = known.first()?.saturating_add(moves(first.min(first_time), first_time));
    peak = peak.max(known.last()?.saturating_add(moves(last_time, last.max(last_time))));
    for (n, pair) in known.windows(2).enumerate() {
        let gap = moves(times[n], times[n + 1]);
        peak = peak.max((pair[0] + pair[1] + gap) / 2 + 1);
    }
    Some(peak)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MILLI: i64 = 1_000_000;
    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn bounds_of_one_side_give_no_fit() {
        let mut facts = Facts::new((0, SECOND));
        assert_eq!(facts.fit(), Fit::Open { low: None, high: None });
        facts.at_least(5, 7);
        facts.at_least(6, 9);
        assert_eq!(facts.fit(), Fit::Open { low: Some(9), high: None });
    }

    #[test]
    fn the_offset_is_in_the_middle_of_the_bounds() {
        let mut facts = Facts::new((0, MILLI));
        facts.at_least(400_000, 1_000);
        facts.at_most(500_000, 3_000);
        let Fit::Bounded { line, error } = facts.fit() else { panic!("{:?}", facts.fit()) };
        assert_eq!((line.offset, line.drift_ppb), (2_000, 0));
        // Half the width, and the possible drift in a millisecond.
        assert!((1_000..1_400).contains(&error), "{error}");
    }

    #[test]
    fn contradictory_facts_are_detected() {
        let mut facts = Facts::new((0, MILLI));
        facts.at_least(400_000, 5_000);
        facts.at_most(500_000, 3_000);
        assert_eq!(facts.fit(), Fit::Contradictory);
    }

    #[test]
    fn a_given_offset_is_kept_if_the_facts_allow_it() {
        let mut facts = Facts::new((0, MILLI));
        facts.at_least(400_000, -10_000);
        facts.at_most(500_000, 90_000);
        assert!(
            matches!(facts.judge(0), Fit::Bounded { line: ClockLine { offset: 0, drift_ppb: 0, .. }, error } if error >= 90_000)
        );
        assert_eq!(facts.judge(-10_001), Fit::Contradictory);
    }

    proptest! {
        #[test]
        fn the_true_offset_is_within_the_error(
            offset in -10_000 * SECOND..10_000 * SECOND,
            drift in -100_000_i64..100_000,
            seconds in 1_i64..4_000,
            facts_of in prop::collection::vec((0.0..1.0_f64, 0_i64..MILLI, any::<bool>()), 2..300),
        ) {
            let span = (0, seconds * SECOND);
            let truth = |at: i64| offset + (i128::from(at) * i128::from(drift)).div_euclid(BILLION) as i64;
            let mut facts = Facts::new(span);
            for (place, delay, is_low) in facts_of {
                let at = (place * span.1 as f64) as i64;
                if is_low { facts.at_least(at, truth(at) - delay) } else { facts.at_most(at, truth(at) + delay) }
            }
            match facts.fit() {
                Fit::Contradictory => prop_assert!(false, "all facts are true"),
                Fit::Open { .. } => {}
                Fit::Bounded { line, error } => for n in 0..=100 {
                    let at = span.1 / 100 * n;
                    let off = (line.offset_at(i128::from(at)) - i128::from(truth(at))).unsigned_abs();
                    prop_assert!(off <= u128::from(error), "{off} > {error} at {at}");
                }
            }
        }

        #[test]
        fn the_error_holds_for_clocks_whose_rate_wanders(
            drift in -100_000_i64..100_000,
            wander in 0..WANDER_MAX_PPB / 2,
            period in 1_i64..600,
            seconds in 10_i64..4_000,
            facts_of in prop::collection::vec((0.0..1.0_f64, 0_i64..MILLI, any::<bool>()), 2..300),
        ) {
            let span = (0, seconds * SECOND);
            // Faster for a period, then slower for one.
            let truth = |at: i64| {
                let period = period * SECOND;
                let within = at % (2 * period);
                let ahead = within.min(2 * period - within);
                (i128::from(at) * i128::from(drift) + i128::from(ahead) * i128::from(wander)).div_euclid(BILLION) as i64
            };
            let mut facts = Facts::new(span);
            for (place, delay, is_low) in facts_of {
                let at = (place * span.1 as f64) as i64;
                if is_low { facts.at_least(at, truth(at) - delay) } else { facts.at_most(at, truth(at) + delay) }
            }
            if let Fit::Bounded { line, error } = facts.fit() {
                for n in 0..=200 {
                    let at = span.1 / 200 * n;
                    let off = (line.offset_at(i128::from(at)) - i128::from(truth(at))).unsigned_abs();
                    prop_assert!(off <= u128::from(error), "{off} > {error} at {at}");
                }
            }
        }

        #[test]
        fn arbitrary_facts_do_not_panic(facts_of in prop::collection::vec((any::<i64>(), any::<i64>(), any::<bool>()), 0..50), span: (i64, i64)) {
            let mut facts = Facts::new(span);
            for (at, bound, is_low) in facts_of {
                if is_low { facts.at_least(at, bound) } else { facts.at_most(at, bound) }
            }
            facts.fit();
            facts.judge(span.0);
        }

        #[test]
        fn the_mapping_is_monotonic(drift in -DRIFT_MAX_PPB..DRIFT_MAX_PPB, times: [i64; 2]) {
            let line = ClockLine { at: 0, offset: 17, drift_ppb: drift };
            let [one, other] = times.map(|time| line.apply(i128::from(time)));
            prop_assert!(times[0] > times[1] || one <= other);
        }
    }
}
