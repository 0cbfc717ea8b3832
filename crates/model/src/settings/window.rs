//! The setting that selects the part of a run to record.

use super::amount::parse_time;
use super::error::SettingError;
use std::num::NonZeroU64;
use std::ops::{Bound, Range, RangeBounds};
use std::str::FromStr;
use std::time::Duration;

/// The part of a run that is recorded. Outside the window, a probe costs as little as with recording off.
///
/// All conditions must hold. In `FERRUM_TRACE_WINDOW` they are separated by commas:
///
/// | text | meaning |
/// | --- | --- |
/// | `steps=100..120` | twenty steps of the engine (`llm::step`), counted from 0; also `100..`, `..20`, `7` |
/// | `time=10s..20s` | time since the start of the recording; also `..30s`, `5min..` |
/// | `first=30s` | the same as `time=..30s` |
/// | `every=1000` | every thousandth step of those selected by `steps` |
/// | `requests=1/100` | one request in a hundred: chosen by id, so all threads and processes choose the same ones; recording is on while one of them runs, and other requests are left out |
/// | `ranks=0`, `ranks=0..4` | only processes with these ranks |
/// | `skip=50`, `skip=10s` | warm-up: steps, or time, to skip before counting starts |
///
/// When nothing more can match (after the last step, at the end of the time), the recording is finished and its file
/// completed while the program continues.
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
    /// Every n-th step is recorded.
    #[doc(hidden)]
    pub every: NonZeroU64,
    /// One request in this many is recorded.
    #[doc(hidden)]
    pub requests: NonZeroU64,
    #[doc(hidden)]
    pub ranks: Range<u64>,
}

impl Default for Window {
    /// Returns a window that covers the whole run.
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
    /// Records only these steps, counted from 0 after the warm-up.
    pub fn steps(mut self, steps: impl RangeBounds<u64>) -> Self {
        self.steps = half_open(steps);
        self
    }

    /// Records every `n`-th step of the window: step `n`, `2n` and so on. 0 means 1.
    pub fn every(mut self, n: u64) -> Self {
        self.every = NonZeroU64::new(n).unwrap_or(NonZeroU64::MIN);
        self
    }

    /// Records only this time, counted from the start of the recording, after the warm-up.
    pub fn time(mut self, time: Range<Duration>) -> Self {
        self.time = time;
        self
    }

    /// Records only the first `time` of the recording.
    pub fn first(self, time: Duration) -> Self {
        self.time(Duration::ZERO..time)
    }

    /// Records only while one of the selected requests runs, one request in `n`. 0 means 1.
    pub fn one_request_in(mut self, n: u64) -> Self {
        self.requests = NonZeroU64::new(n).unwrap_or(NonZeroU64::MIN);
        self
    }

    /// Records only processes with these ranks, and processes without a rank.
    pub fn ranks(mut self, ranks: impl RangeBounds<u64>) -> Self {
        self.ranks = half_open(ranks);
        self
    }

    /// Skips `n` steps before recording and counting start.
    pub fn skip_steps(mut self, n: u64) -> Self {
        self.skip_steps = n;
        self
    }

    /// Skips this much time before recording and counting start.
    pub fn skip_time(mut self, time: Duration) -> Self {
        self.skip_time = time;
        self
    }

    /// Returns true if a process with this rank is recorded.
    pub fn has_rank(&self, rank: Option<u32>) -> bool {
        rank.is_none_or(|rank| self.ranks.contains(&u64::from(rank)))
    }

    /// Returns true if the window depends on the number of the step.
    pub fn has_steps(&self) -> bool {
        self.skip_steps > 0 || self.steps != (0..u64::MAX) || self.every.get() > 1
    }

    /// Returns the times at which the window opens and closes, counted from the start of the recording.
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

/// Parses `100..120`, `100..`, `..20` or a single number.
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

/// Parses `10s..20s`, `10s..` or `..20s`.
fn parse_times(text: &str) -> Option<Range<Duration>> {
    let (start, end) = text.split_once("..")?;
    let bound = |text: &str, none| if text.trim().is_empty() { Some(none) } else { parse_time(text) };
    let range = bound(start, Duration::ZERO)?..bound(end, Duration::MAX)?;
    (!range.is_empty()).then_some(range)
}

/// Parses `1/100`.
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
    fn each_condition_is_parsed_alone_and_together_with_others() {
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
    fn invalid_text_is_reported_with_the_expected_form() {
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
        fn no_text_panics(text in "[a-z0-9=.,/ ]{0,40}|.{0,40}") {
            let _ = text.parse::<Window>();
        }
    }
}
