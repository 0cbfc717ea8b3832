//! Which part of a run is recorded.

use super::amount::parse_time;
use super::error::SettingError;
use std::num::NonZeroU64;
use std::ops::{Bound, Range, RangeBounds};
use std::str::FromStr;
use std::time::Duration;

/// Which part of a run is recorded; outside of it, recording costs what it costs when it is off.
///
/// All conditions must hold. As text, in `FERRUM_TRACE_WINDOW`, they stand with commas between them:
///
/// | text | meaning |
/// | --- | --- |
/// | `steps=100..120` | twenty steps of the engine (`llm::step`), counted from 0; also `100..`, `..20`, `7` |
/// | `time=10s..20s` | from the begin of the recording on; also `..30s`, `5min..` |
/// | `first=30s` | the same as `time=..30s` |
/// | `every=1000` | every thousandth step, of those that `steps` has |
/// | `requests=1/100` | while one of these requests is there: chosen by their ids, whole, the same ones on all threads and processes; the others are not recorded |
/// | `ranks=0`, `ranks=0..4` | processes of these ranks only |
/// | `skip=50`, `skip=10s` | warm-up: so many steps, or so much time, after which counting begins |
///
/// Once no more can come (after the last step, at the end of the time), the recording is finished and the file is complete, while
/// the program goes on.
///
/// ```
/// use ferrum_trace_model::settings::Window;
/// let same = Window::default().skip_steps(50).steps(100..120);
/// assert_eq!("skip=50, steps=100..120".parse::<Window>().unwrap(), same);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    #[doc(hidden)]
    pub skip_steps: u64,
    #[doc(hidden)]
    pub skip_time: Duration,
    #[doc(hidden)]
    pub steps: Range<u64>,
    #[doc(hidden)]
    pub time: Range<Duration>,
    /// One in so many steps.
    #[doc(hidden)]
    pub every: NonZeroU64,
    /// One in so many requests.
    #[doc(hidden)]
    pub requests: NonZeroU64,
    #[doc(hidden)]
    pub ranks: Range<u64>,
}

impl Default for Window {
    /// All of the run.
    fn default() -> Self {
        Self {
            skip_steps: 0,
            skip_time: Duration::ZERO,
            steps: 0..u64::MAX,
            time: Duration::ZERO..Duration::MAX,
            every: NonZeroU64::MIN,
            requests: NonZeroU64::MIN,
            ranks: 0..u64::MAX,
        }
    }
}

impl Window {
    /// These steps, counted from 0 after the warm-up.
    pub fn steps(mut self, steps: impl RangeBounds<u64>) -> Self {
        self.steps = half_open(steps);
        self
    }

    /// One step in so many: the `n`th, the `2n`th and so on of those that the window has. 0 is taken for 1.
    pub fn every(mut self, n: u64) -> Self {
        self.every = NonZeroU64::new(n).unwrap_or(NonZeroU64::MIN);
        self
    }

    /// This time, counted from the begin of the recording, after the warm-up.
    pub fn time(mut self, time: Range<Duration>) -> Self {
        self.time = time;
        self
    }

    /// The first so much time.
    pub fn first(self, time: Duration) -> Self {
        self.time(Duration::ZERO..time)
    }

    /// While one request in so many is there. 0 is taken for 1.
    pub fn one_request_in(mut self, n: u64) -> Self {
        self.requests = NonZeroU64::new(n).unwrap_or(NonZeroU64::MIN);
        self
    }

    /// Processes of these ranks only, and those that have none.
    pub fn ranks(mut self, ranks: impl RangeBounds<u64>) -> Self {
        self.ranks = half_open(ranks);
        self
    }

    /// Nothing is recorded, or counted, for so many steps.
    pub fn skip_steps(mut self, n: u64) -> Self {
        self.skip_steps = n;
        self
    }

    /// Nothing is recorded, or counted, for so much time.
    pub fn skip_time(mut self, time: Duration) -> Self {
        self.skip_time = time;
        self
    }

    /// Whether a process of this rank is recorded at all.
    pub fn has_rank(&self, rank: Option<u32>) -> bool {
        rank.is_none_or(|rank| self.ranks.contains(&u64::from(rank)))
    }

    /// Whether steps are to be counted.
    pub fn has_steps(&self) -> bool {
        self.skip_steps > 0 || self.steps != (0..u64::MAX) || self.every.get() > 1
    }

    /// When it begins and ends by the clock, counted from the begin of the recording.
    pub fn times(&self) -> Range<Duration> {
        let later = |time: Duration| time.saturating_add(self.skip_time);
        later(self.time.start)..later(self.time.end)
    }
}

fn half_open(range: impl RangeBounds<u64>) -> Range<u64> {
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.saturating_add(1),
        Bound::Excluded(&end) => end,
        Bound::Unbounded => u64::MAX,
    };
    start..end
}

const STEPS: &str = "steps such as `steps=100..120`";
const TIME: &str = "a time such as `time=10s..20s`";
const FIRST: &str = "a time such as `first=30s`";
const EVERY: &str = "a number of steps such as `every=1000`";
const REQUESTS: &str = "a share of requests such as `requests=1/100`";
const RANKS: &str = "ranks such as `ranks=0` or `ranks=0..4`";
const SKIP: &str = "steps or a time such as `skip=50` or `skip=10s`";
const PART: &str = "`steps=`, `time=`, `first=`, `every=`, `requests=`, `ranks=` or `skip=`";

impl FromStr for Window {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        text.split(',').map(str::trim).filter(|part| !part.is_empty()).try_fold(Self::default(), Self::with_part)
    }
}

impl Window {
    fn with_part(self, part: &str) -> Result<Self, SettingError> {
        let expected = |what| SettingError::new(what, part);
        let (key, value) = part.split_once('=').ok_or_else(|| expected(PART))?;
        let value = value.trim();
        let (window, what) = match key.trim() {
            "steps" => (parse_numbers(value).map(|steps| self.steps(steps)), STEPS),
            "ranks" | "rank" => (parse_numbers(value).map(|ranks| self.ranks(ranks)), RANKS),
            "time" => (parse_times(value).map(|time| self.time(time)), TIME),
            "first" => (parse_time(value).map(|time| self.first(time)), FIRST),
            "every" => (value.parse().ok().filter(|&n| n > 0).map(|n| self.every(n)), EVERY),
            "requests" => (parse_share(value).map(|n| self.one_request_in(n)), REQUESTS),
            "skip" => (self.parse_skip(value), SKIP),
            _ => (None, PART),
        };
        window.ok_or_else(|| expected(what))
    }

    fn parse_skip(self, value: &str) -> Option<Self> {
        match value.parse() {
            Ok(n) => Some(self.skip_steps(n)),
            Err(_) => parse_time(value).map(|time| self.skip_time(time)),
        }
    }
}

/// `100..120`, `100..`, `..20` or one number.
fn parse_numbers(text: &str) -> Option<Range<u64>> {
    let range = match text.split_once("..") {
        None => {
            let one: u64 = text.parse().ok()?;
            one..one.checked_add(1)?
        }
        Some((start, end)) => {
            let bound = |text: &str, none| if text.trim().is_empty() { Some(none) } else { text.trim().parse().ok() };
            bound(start, 0)?..bound(end, u64::MAX)?
        }
    };
    (!range.is_empty()).then_some(range)
}

/// `10s..20s`, `10s..` or `..20s`.
fn parse_times(text: &str) -> Option<Range<Duration>> {
    let (start, end) = text.split_once("..")?;
    let bound = |text: &str, none| if text.trim().is_empty() { Some(none) } else { parse_time(text) };
    let range = bound(start, Duration::ZERO)?..bound(end, Duration::MAX)?;
    (!range.is_empty()).then_some(range)
}

/// `1/100`.
fn parse_share(text: &str) -> Option<u64> {
    let (one, n) = text.split_once('/')?;
    let n = n.trim().parse().ok().filter(|&n| n > 0)?;
    (one.trim() == "1").then_some(n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(text: &str) -> Window {
        text.parse().unwrap()
    }

    #[test]
    fn each_part_is_understood_and_all_of_them_together() {
        let all = Window::default;
        assert_eq!(parsed("steps=100..120"), all().steps(100..120));
        assert_eq!(parsed("steps=100.."), all().steps(100..));
        assert_eq!(parsed("steps=..20"), all().steps(..20));
        assert_eq!(parsed("steps = 7"), all().steps(7..=7));
        assert_eq!(parsed("first=30s"), all().first(Duration::from_secs(30)));
        assert_eq!(parsed("time=..30s"), all().first(Duration::from_secs(30)));
        assert_eq!(parsed("time=10s..1min"), all().time(Duration::from_secs(10)..Duration::from_secs(60)));
        assert_eq!(parsed("every=1000"), all().every(1000));
        assert_eq!(parsed("requests=1/100"), all().one_request_in(100));
        assert_eq!(parsed("ranks=0..4, skip=50 ,skip=10s"), {
            all().ranks(0..4).skip_steps(50).skip_time(Duration::from_secs(10))
        });
        assert_eq!(parsed(""), all());
    }

    #[test]
    fn what_is_not_understood_is_told_with_what_was_expected() {
        for (text, expected) in [
            ("steps=20..10", STEPS),
            ("steps=x", STEPS),
            ("time=10", TIME),
            ("first=ten", FIRST),
            ("every=0", EVERY),
            ("requests=1/0", REQUESTS),
            ("requests=2/3", REQUESTS),
            ("ranks=-1", RANKS),
            ("skip=", SKIP),
            ("100..120", PART),
            ("steps=1..2,sometimes=1", PART),
        ] {
            let error = text.parse::<Window>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("expected {expected}, found `")), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[a-z0-9=.,/ ]{0,40}|.{0,40}") {
            let _ = text.parse::<Window>();
        }
    }
}
