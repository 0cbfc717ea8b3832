//! The triggers of a flight recorder and their text: `step>50ms`, `step>3xp99`, `panic`.

use super::amount::{parse_time, time_text};
use super::error::SettingError;
use super::signal::Signal;
use crate::vocab::Phase;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A condition that causes a dump. `FERRUM_TRACE_TRIGGER` takes the same text, and the dump states it as its reason.
///
/// ```
/// use ferrum_trace_model::settings::{StepLimit, Trigger};
/// use std::time::Duration;
///
/// let trigger: Trigger = "step > 50ms".parse()?;
/// assert_eq!(trigger, Trigger::Step { phase: None, over: StepLimit::Time(Duration::from_millis(50)) });
/// assert_eq!(trigger.to_string(), "step>50ms");
/// # Ok::<(), ferrum_trace_model::settings::SettingError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Trigger {
    /// `step>50ms`, `step>3xp99`: a step of the engine takes longer; `prefill>…`, `decode>…`, `mixed>…`: a step of that
    /// phase.
    Step {
        /// The phase of the steps; `None` for all steps.
        phase: Option<Phase>,
        /// The longest time that a step may take.
        over: StepLimit,
    },
    /// `request>2s`: a request takes longer, from arrival to end.
    Request(Duration),
    /// `ttft>500ms`: a request waits longer for its first token.
    Ttft(Duration),
    /// `tpot>80ms`: the tokens after the first one take longer, on average over the request.
    Tpot(Duration),
    /// `panic`: a thread panics.
    Panic,
    /// `signal=SIGUSR2`: the process gets a signal.
    Signal(Signal),
}

/// The longest time that a step may take.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum StepLimit {
    /// A fixed time.
    Time(Duration),
    /// A multiple of the 99th percentile of the last few thousand steps of the same phase. The trigger is inactive
    /// until a hundred steps of the phase are known.
    TimesP99(f64),
}

const EXPECTED_TRIGGER: &str =
    "`step`, `prefill`, `decode`, `mixed`, `request`, `ttft` or `tpot` with `>` and a time, `panic` or `signal=NAME`";
const EXPECTED_TIME: &str = "a time such as `50ms`";
const EXPECTED_STEP_LIMIT: &str = "a time such as `50ms` or a multiple such as `3xp99`";
const EXPECTED_SIGNAL: &str = "SIGUSR1, SIGUSR2, SIGHUP or SIGRTMIN+N";

impl FromStr for Trigger {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let wrong = |expected| SettingError::new(expected, text.trim());
        let lower = text.trim().to_ascii_lowercase();
        if lower == "panic" {
            return Ok(Self::Panic);
        }
        if let Some((word, name)) = lower.split_once('=') {
            return match word.trim() {
                "signal" => Signal::from_text(name).map(Self::Signal).ok_or_else(|| wrong(EXPECTED_SIGNAL)),
                _ => Err(wrong(EXPECTED_TRIGGER)),
            };
        }
        let (word, limit) = lower.split_once('>').ok_or_else(|| wrong(EXPECTED_TRIGGER))?;
        let time = || parse_time(limit).ok_or_else(|| wrong(EXPECTED_TIME));
        let step = |phase| {
            let over = parse_step_limit(limit).ok_or_else(|| wrong(EXPECTED_STEP_LIMIT))?;
            Ok(Self::Step { phase, over })
        };
        match word.trim() {
            "step" => step(None),
            "request" => time().map(Self::Request),
            "ttft" => time().map(Self::Ttft),
            "tpot" => time().map(Self::Tpot),
            word => match Phase::from_text(word) {
                Some(phase) => step(Some(phase)),
                None => Err(wrong(EXPECTED_TRIGGER)),
            },
        }
    }
}

/// Parses `50ms`, `3xp99` or `1.5 x p99`.
fn parse_step_limit(text: &str) -> Option<StepLimit> {
    let Some(multiple) = text.trim().strip_suffix("p99") else {
        return parse_time(text).map(StepLimit::Time);
    };
    let factor = multiple.trim_end().strip_suffix('x')?.trim();
    // Other spellings of a float, such as `inf`, `1e5` and `-1`, are refused.
    let is_plain = factor.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let factor = factor.parse().ok().filter(|factor| is_plain && (1.0..1e9).contains(factor))?;
    Some(StepLimit::TimesP99(factor))
}

/// Parses triggers separated by commas. Invalid ones are passed to `report`, the others are returned.
pub fn parse_triggers(text: &str, mut report: impl FnMut(SettingError)) -> Vec<Trigger> {
    let parts = text.split(',').filter(|part| !part.trim().is_empty());
    parts.filter_map(|part| part.parse().map_err(&mut report).ok()).collect()
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Step { phase, over } => {
                write!(f, "{}>", phase.map_or("step", Phase::as_str))?;
                match over {
                    StepLimit::Time(time) => f.write_str(&time_text(time)),
                    StepLimit::TimesP99(factor) => write!(f, "{factor}xp99"),
                }
            }
            Self::Request(time) => write!(f, "request>{}", time_text(time)),
            Self::Ttft(time) => write!(f, "ttft>{}", time_text(time)),
            Self::Tpot(time) => write!(f, "tpot>{}", time_text(time)),
            Self::Panic => f.write_str("panic"),
            Self::Signal(signal) => write!(f, "signal={signal}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_trigger_is_parsed_and_printed_unchanged() {
        let texts = [
            "step>50ms",
            "step>3xp99",
            "decode>1.5xp99",
            "prefill>2s",
            "mixed>700us",
            "request>90s",
            "ttft>500ms",
            "tpot>80ms",
            "panic",
            "signal=SIGUSR2",
            "signal=SIGRTMIN+3",
        ];
        for text in texts {
            assert_eq!(text.parse::<Trigger>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn spaces_cases_and_empty_parts_do_not_matter() {
        let text = " Step > 50 ms ,, DECODE>3 x p99, signal = usr2,panic ,";
        let triggers: Vec<String> =
            parse_triggers(text, |error| panic!("{error}")).iter().map(Trigger::to_string).collect();
        assert_eq!(triggers, ["step>50ms", "decode>3xp99", "signal=SIGUSR2", "panic"]);
    }

    #[test]
    fn invalid_triggers_are_reported_and_the_others_are_used() {
        let mut errors = Vec::new();
        let triggers = parse_triggers("step>50, layer>1s, ttft>2xp99,panic", |error| errors.push(error.to_string()));
        assert_eq!(triggers, [Trigger::Panic]);
        assert_eq!(errors.len(), 3);
        assert_eq!(errors[0], "expected a time such as `50ms` or a multiple such as `3xp99`, found `step>50`");
        assert_eq!(errors[2], "expected a time such as `50ms`, found `ttft>2xp99`");
    }

    #[test]
    fn invalid_triggers_are_refused() {
        let texts = [
            "",
            "step",
            "step>",
            "step>xp99",
            "step>0.5xp99",
            "step>infxp99",
            "step>1e3xp99",
            "step>-1s",
            "step>nanxp99",
            "step>1.2.3xp99",
            "request>3xp99",
            "signal=SIGKILL",
            "signal=SIGSTOP",
            "signal=SIGSEGV",
            "signal=9",
            "signal=SIGTERM",
            "signal=",
            "panic>1s",
            "signal>1s",
            "99999999999999999999999s>step",
        ];
        for text in texts {
            assert!(text.parse::<Trigger>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics_and_printed_triggers_parse_again(text in "\\PC*") {
            if let Ok(trigger) = text.parse::<Trigger>() {
                prop_assert_eq!(trigger.to_string().parse(), Ok(trigger));
            }
        }

        #[test]
        fn texts_similar_to_triggers_never_panic(text in "[ >=,.x+0-9a-zµ]{0,12}(>|=|)[ 0-9.]{0,22}(ns|us|ms|s|min|h|xp99|sigrtmin\\+)[0-9]{0,3}") {
            for trigger in parse_triggers(&text, |error| assert!(!error.to_string().is_empty())) {
                prop_assert_eq!(trigger.to_string().parse(), Ok(trigger));
            }
        }
    }
}
