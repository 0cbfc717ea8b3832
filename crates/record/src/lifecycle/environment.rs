//! Options from environment variables.

use crate::error::Error;
use crate::os::clock::ClockKind;
use crate::os::environment::variable;
use crate::process::options::Options;
use crate::recording::options::{DEFAULT_LIMIT, SessionOptions};
use crate::recording::origin::{RANK_VARIABLES, rank_number, rank_text};
use crate::recording::pattern::Pattern;
use ferrum_trace_model::settings::{self, SettingError, parse_triggers, read_limit};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Output path. Recording is on if it is set.
pub(crate) const OUT: &str = "FERRUM_TRACE_OUT";
/// Limit of the spool in bytes.
pub(crate) const LIMIT: &str = "FERRUM_TRACE_LIMIT";
/// Size of the ring of a flight recorder, in bytes or seconds.
pub(crate) const RING: &str = "FERRUM_TRACE_RING";
/// Rotation by size or time.
pub(crate) const ROTATE: &str = "FERRUM_TRACE_ROTATE";
/// Steps, time, requests or ranks to record.
pub(crate) const WINDOW: &str = "FERRUM_TRACE_WINDOW";
/// Categories to record.
pub(crate) const CATEGORIES: &str = "FERRUM_TRACE_CATEGORIES";
/// Triggers that cause a dump.
pub(crate) const TRIGGER: &str = "FERRUM_TRACE_TRIGGER";
/// Limits of dumps.
pub(crate) const DUMPS: &str = "FERRUM_TRACE_DUMPS";
/// Address of the HTTP interface.
pub(crate) const HTTP: &str = "FERRUM_TRACE_HTTP";
/// Token that HTTP requests must have.
#[cfg(feature = "http")]
pub(crate) const HTTP_TOKEN: &str = "FERRUM_TRACE_HTTP_TOKEN";
/// Folder of recordings that are started by a request.
#[cfg(feature = "http")]
pub(crate) const HTTP_DIR: &str = "FERRUM_TRACE_HTTP_DIR";
/// Clock: `auto`, `ticks` or `monotonic`.
pub(crate) const CLOCK: &str = "FERRUM_TRACE_CLOCK";

/// The unit of times in JSON: `ns` (three decimals) or `us` (whole).
pub(crate) const TIME: &str = "FERRUM_TRACE_TIME";

/// Returns the options of a `TraceWriter`: the defaults, with the limit and the unit of times of the environment, which
/// are used for all recordings.
pub(crate) fn options_for_writer(out: PathBuf) -> Result<Options, Error> {
    let limit = limit_of_environment().map_err(|error| Error::setting(LIMIT, error))?;
    let whole_micros = variable(TIME).is_some_and(|unit| read_time_unit(&unit.to_string_lossy()) == Ok(true));
    let mut options = Options::new(out);
    options.session = SessionOptions { limit, whole_micros, ..options.session };
    Ok(options)
}

/// Returns the options that the environment gives, or `None` if it does not request a recording, or if a value that
/// bounds the recording is invalid: a misspelled bound must not become no bound. Passes a message about each invalid
/// value to `complain`.
pub(crate) fn options_from_vars<I, K, V>(vars: I, mut complain: impl FnMut(String)) -> Option<Options>
where
    I: IntoIterator<Item = (K, V)>,
    K: Into<OsString>,
    V: Into<OsString>,
{
    let mut found = Found::default();
    for (name, value) in vars {
        let (name, value) = (name.into(), value.into());
        if let Some(slot) = found.slot(&name) {
            // The first value that is not empty counts.
            if slot.as_ref().is_none_or(|before| before.is_empty()) {
                *slot = Some(value);
            }
        }
    }
    let out = unless_off(found.out.take())?;
    let rank = rank_text(|name| found.ranks.iter().find(|(known, _)| *known == name)?.1.clone());
    let pattern = Pattern { text: out, rank };
    let mut options = Options::new(pattern.path());
    options.is_of_environment = true;
    options.session.rank = pattern.rank.as_deref().and_then(rank_number);
    options.session.pattern = Some(pattern).filter(Pattern::names_process);
    set_options(&mut options, found, &mut complain).then_some(options)
}

/// Sets all options but the path. Returns false if a value that bounds the recording is invalid.
fn set_options(options: &mut Options, found: Found, complain: &mut impl FnMut(String)) -> bool {
    let mut setting = Settings { complain, is_bounded: true };
    let session = &mut options.session;
    if let Some(limit) = setting.read_bound(LIMIT, found.limit, read_limit) {
        session.limit = limit;
    }
    session.ring = setting.read_bound(RING, unless_off(found.ring), str::parse);
    session.rotate = setting.read_bound(ROTATE, unless_off(found.rotate), str::parse);
    if session.rotate.is_some() && session.ring.is_some() {
        session.rotate = None;
        (setting.complain)(format!(
            "{ROTATE}: a flight recorder ({RING}) keeps the newest events in one file; rotation is off"
        ));
    }
    if let Some(window) = setting.read_bound(WINDOW, found.window, str::parse) {
        options.window = window;
    }
    options.categories = setting.read_bound(CATEGORIES, found.categories, str::parse);
    options.flight.dumps = setting.read_bound(DUMPS, found.dumps, str::parse).unwrap_or_default();
    let triggers = unless_off(found.trigger).unwrap_or_default();
    let left_out = |error| (setting.complain)(format!("{TRIGGER}: {error}; it is left out"));
    options.flight.triggers = parse_triggers(&triggers.to_string_lossy(), left_out);
    session.clock = setting.read(CLOCK, found.clock, read_clock, "the clock is `auto`").flatten();
    let instead = "times have three decimals";
    session.whole_micros = setting.read(TIME, found.time, read_time_unit, instead).unwrap_or(false);
    setting.is_bounded
}

/// Reads values of variables one by one.
struct Settings<'a, F> {
    complain: &'a mut F,
    /// False if a bound is invalid.
    is_bounded: bool,
}

impl<F: FnMut(String)> Settings<'_, F> {
    /// Returns the value of a variable, or `None` if it is not given or invalid. The message about an invalid value
    /// ends with `instead`, the consequence.
    fn read<T>(
        &mut self,
        name: &str,
        value: Option<OsString>,
        read: impl FnOnce(&str) -> Result<T, SettingError>,
        instead: &str,
    ) -> Option<T> {
        let value = value.filter(|value| !value.is_empty())?;
        let error = match read(&value.to_string_lossy()) {
            Ok(value) => return Some(value),
            Err(error) => error,
        };
        (self.complain)(format!("{name}: {error}; {instead}"));
        None
    }

    /// Like [`read`](Self::read), for a setting that bounds the recording.
    fn read_bound<T>(
        &mut self,
        name: &str,
        value: Option<OsString>,
        read: impl FnOnce(&str) -> Result<T, SettingError>,
    ) -> Option<T> {
        let is_given = value.as_ref().is_some_and(|value| !value.is_empty());
        let bound = self.read(name, value, read, "nothing is recorded");
        self.is_bounded &= bound.is_some() || !is_given;
        bound
    }
}

fn read_clock(text: &str) -> Result<Option<ClockKind>, SettingError> {
    parse_clock(text).ok_or_else(|| SettingError::new("`auto`, `ticks` or `monotonic`", text))
}

/// Returns true if times are whole microseconds.
fn read_time_unit(text: &str) -> Result<bool, SettingError> {
    match text.trim().to_ascii_lowercase().as_str() {
        "us" => Ok(true),
        "ns" => Ok(false),
        _ => Err(SettingError::new("`us` or `ns`", text)),
    }
}

/// Values of the variables, as found in the environment.
#[derive(Default)]
struct Found {
    out: Option<OsString>,
    limit: Option<OsString>,
    ring: Option<OsString>,
    rotate: Option<OsString>,
    window: Option<OsString>,
    categories: Option<OsString>,
    trigger: Option<OsString>,
    dumps: Option<OsString>,
    clock: Option<OsString>,
    time: Option<OsString>,
    ranks: [(&'static str, Option<OsString>); RANK_VARIABLES.len()],
}

impl Found {
    fn slot(&mut self, name: &OsStr) -> Option<&mut Option<OsString>> {
        match name.to_str()? {
            OUT => Some(&mut self.out),
            LIMIT => Some(&mut self.limit),
            RING => Some(&mut self.ring),
            ROTATE => Some(&mut self.rotate),
            WINDOW => Some(&mut self.window),
            CATEGORIES => Some(&mut self.categories),
            TRIGGER => Some(&mut self.trigger),
            DUMPS => Some(&mut self.dumps),
            CLOCK => Some(&mut self.clock),
            TIME => Some(&mut self.time),
            name => {
                let place = RANK_VARIABLES.iter().position(|rank| *rank == name)?;
                self.ranks[place].0 = RANK_VARIABLES[place];
                Some(&mut self.ranks[place].1)
            }
        }
    }
}

/// Returns the limit that the environment gives, or the default.
pub(crate) fn limit_of_environment() -> Result<u64, SettingError> {
    let limit = variable(LIMIT).filter(|limit| !limit.is_empty());
    limit.map_or(Ok(DEFAULT_LIMIT), |limit| read_limit(&limit.to_string_lossy()))
}

/// Returns true if the value of a variable means off.
pub(crate) fn is_off(value: &OsStr) -> bool {
    value.to_str().is_some_and(settings::is_off)
}

fn unless_off(value: Option<OsString>) -> Option<OsString> {
    value.filter(|value| !is_off(value))
}

fn parse_clock(text: &str) -> Option<Option<ClockKind>> {
    match text.trim().to_ascii_lowercase().as_str() {
        "auto" => Some(None),
        "ticks" => Some(Some(ClockKind::Ticks)),
        "monotonic" => Some(Some(ClockKind::Monotonic)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrum_trace_model::settings::Trigger;
    use proptest::prelude::*;
    use std::time::Duration;

    fn parsed(vars: &[(&str, &str)]) -> (Option<Options>, Vec<String>) {
        let mut complaints = Vec::new();
        let options = options_from_vars(vars.iter().copied(), |complaint| complaints.push(complaint));
        (options, complaints)
    }

    #[test]
    fn unset_empty_and_off_like_values_mean_off() {
        for vars in [&[][..], &[(OUT, "")], &[(OUT, "0")], &[(OUT, "off")], &[(OUT, "False")], &[("OTHER", "x")]] {
            assert!(parsed(vars).0.is_none(), "{vars:?}");
        }
    }

    #[test]
    fn limits_are_read_with_and_without_units() {
        for (text, bytes) in [("1000", 1000), ("64K", 64 << 10), ("2MiB", 2 << 20), ("3 gb", 3 << 30)] {
            assert_eq!(parsed(&[(OUT, "t.json"), (LIMIT, text)]).0.unwrap().session.limit, bytes);
        }
    }

    #[test]
    fn an_invalid_bound_is_reported_once_and_nothing_is_recorded() {
        for (name, text) in [
            (LIMIT, "lots"),
            (LIMIT, "-1"),
            (LIMIT, "99999999999G"),
            (RING, "64Mibs"),
            (RING, "0s"),
            (ROTATE, "often"),
            (WINDOW, "step=1"),
            (CATEGORIES, "a*b"),
            (DUMPS, "files=x,after=1s"),
        ] {
            let (options, complaints) = parsed(&[(OUT, "t.json"), (name, text)]);
            assert!(options.is_none(), "{name}={text}");
            assert_eq!(complaints.len(), 1);
            let is_reported = |part| complaints[0].contains(part);
            assert!(is_reported(name) && is_reported(text.split(',').next().unwrap()), "{complaints:?}");
            assert!(complaints[0].ends_with("; nothing is recorded"), "{complaints:?}");
        }
    }

    #[test]
    fn an_invalid_clock_or_unit_is_reported_once_and_the_default_is_used() {
        let (options, complaints) = parsed(&[(OUT, "t.json"), (CLOCK, "sundial")]);
        assert_eq!((options.unwrap().session.clock, complaints.len()), (None, 1));
        let (options, complaints) = parsed(&[(OUT, "t.json"), (TIME, "ms")]);
        assert_eq!((options.unwrap().session.whole_micros, complaints.len()), (false, 1));
        assert!(parsed(&[(OUT, "t.json"), (TIME, "us")]).0.unwrap().session.whole_micros);
    }

    #[test]
    fn the_rank_comes_from_the_first_variable_that_has_one() {
        let path = |vars: &[(&str, &str)]| parsed(vars).0.unwrap().session.out;
        assert_eq!(path(&[(OUT, "t.%r.json"), ("SLURM_PROCID", "3")]), PathBuf::from("t.3.json"));
        assert_eq!(path(&[("SLURM_PROCID", "3"), ("RANK", "1"), (OUT, "t.%r.json")]), PathBuf::from("t.1.json"));
        assert_eq!(path(&[(OUT, "t.%r.json")]), PathBuf::from("t.0.json"));
    }

    #[test]
    fn a_rank_is_a_number_or_none() {
        let rank = |vars: &[(&str, &str)]| parsed(vars).0.unwrap().session.rank;
        assert_eq!(rank(&[(OUT, "t.json"), ("RANK", ""), ("SLURM_PROCID", " 3 ")]), Some(3));
        assert_eq!(rank(&[(OUT, "t.json"), ("RANK", "first")]), None);
        assert_eq!(rank(&[(OUT, "t.json"), ("RANK", "99999999999")]), None);
        assert_eq!(rank(&[(OUT, "t.json")]), None);
    }

    #[test]
    fn triggers_and_limits_of_dumps_are_read() {
        let vars = [(OUT, "t.json"), (TRIGGER, "step>50ms, panic"), (DUMPS, "files=2, after=5s")];
        let (options, complaints) = parsed(&vars);
        let options = options.unwrap();
        assert_eq!((options.flight.triggers.len(), options.flight.dumps.files, complaints), (2, 2, vec![]));
        assert_eq!(options.flight.dumps.after, Duration::from_secs(5));
        let (options, complaints) = parsed(&[(OUT, "t.json"), (TRIGGER, "off"), (DUMPS, "")]);
        assert!(options.unwrap().flight.triggers.is_empty() && complaints.is_empty());
        let (options, complaints) = parsed(&[(OUT, "t.json"), (TRIGGER, "step>1,panic")]);
        assert_eq!((options.unwrap().flight.triggers, complaints.len()), (vec![Trigger::Panic], 1));
    }

    proptest! {
        #[test]
        fn no_text_in_any_variable_panics(
            name in prop::sample::select(vec![OUT, LIMIT, RING, WINDOW, CATEGORIES, TRIGGER, DUMPS, CLOCK, "RANK"]),
            any in "\\PC*",
            like in "[-+ ,=>.*%:]{0,3}[a-z]{0,8}[=>.]{0,2}[0-9]{0,21}[ a-zA-Z]{0,5}(,[0-9a-z=>.]{0,9}){0,3}",
        ) {
            for text in [any, like] {
                let (_, complaints) = parsed(&[(name, &text), (OUT, "t.json")]);
                // One line for each part that is invalid.
                prop_assert!(complaints.len() <= 1 + text.matches(',').count());
                prop_assert!(complaints.iter().all(|complaint| complaint.contains(name)));
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn variables_that_are_not_utf8_are_accepted() {
        use std::os::unix::ffi::OsStringExt;
        let odd = OsString::from_vec(vec![b'/', 0xff, b'.', b'j']);
        let vars = [(odd.clone(), odd.clone()), (OsString::from(OUT), odd.clone())];
        let options = options_from_vars(vars, |_| {}).unwrap();
        assert_eq!(options.session.out.as_os_str(), odd);
    }
}
