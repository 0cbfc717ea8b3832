//! What to record to, and how much.

use crate::categories::Categories;
use crate::clock::ClockKind;
use crate::destination::OUT_OFF_WORDS;
use crate::dump::DumpLimits;
use crate::origin::{RANK_VARIABLES, rank_number, rank_of_environment, rank_text};
use crate::pattern::Pattern;
use crate::ring;
use crate::rotate::Rotate;
use crate::setting_error::SettingError;
use crate::trigger::{Trigger, parse_triggers};
use crate::watch::Predicate;
use crate::window::Window;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

/// Where the trace goes; recording is on if it is set.
pub const OUT: &str = "FERRUM_TRACE_OUT";
/// Bytes that the spool may take.
pub const LIMIT: &str = "FERRUM_TRACE_LIMIT";
/// What a flight recorder keeps: bytes or seconds.
pub const RING: &str = "FERRUM_TRACE_RING";
/// When the recording goes on in another file.
pub const ROTATE: &str = "FERRUM_TRACE_ROTATE";
/// Which part of the run is recorded.
pub const WINDOW: &str = "FERRUM_TRACE_WINDOW";
/// Which categories are.
pub const CATEGORIES: &str = "FERRUM_TRACE_CATEGORIES";
/// What has a flight recorder write out what it has.
pub const TRIGGER: &str = "FERRUM_TRACE_TRIGGER";
/// What a flight recorder may write out.
pub const DUMPS: &str = "FERRUM_TRACE_DUMPS";
/// Where to listen for requests.
pub const HTTP: &str = "FERRUM_TRACE_HTTP";
/// What requests have to know.
#[cfg(feature = "http")]
pub const HTTP_TOKEN: &str = "FERRUM_TRACE_HTTP_TOKEN";
/// Where recordings go that are begun by a request.
#[cfg(feature = "http")]
pub const HTTP_DIR: &str = "FERRUM_TRACE_HTTP_DIR";
/// `auto`, `ticks` or `monotonic`.
pub const CLOCK: &str = "FERRUM_TRACE_CLOCK";

/// The limit if none is given: 4 GiB, about 260 million spans.
pub const DEFAULT_LIMIT: u64 = 4 << 30;

/// What a recording needs to know.
#[derive(Clone, Debug)]
pub struct Options {
    /// As the user gave it.
    pub out: PathBuf,
    /// What `out` was made of, if the process's number is in it: a forked child makes its own of it.
    pub pattern: Option<Pattern>,
    pub limit: u64,
    /// Keep the newest, not all.
    pub ring: Option<ring::Extent>,
    /// Several files, one after the other. Not for a ring, which keeps what is newest in one.
    pub rotate: Option<Rotate>,
    pub dumps: DumpLimits,
    pub window: Window,
    /// `None` for those that are set already.
    pub categories: Option<Categories>,
    pub triggers: Vec<Trigger>,
    pub predicates: Vec<Predicate>,
    /// `None` for the best there is.
    pub clock: Option<ClockKind>,
    /// `None` for that of the program.
    pub process_name: Option<String>,
    /// Which of the processes of one run this is.
    pub rank: Option<u32>,
    /// Whether a forked parent records to `out`, so that this process must not.
    pub is_forked: bool,
}

impl Options {
    /// The defaults, and the rank that the environment tells.
    pub fn new(out: PathBuf) -> Self {
        Self {
            out,
            pattern: None,
            limit: DEFAULT_LIMIT,
            ring: None,
            rotate: None,
            dumps: DumpLimits::default(),
            window: Window::default(),
            categories: None,
            triggers: Vec::new(),
            predicates: Vec::new(),
            clock: None,
            process_name: None,
            rank: rank_of_environment(),
            is_forked: false,
        }
    }

    /// The defaults, but for the limit: that of the environment holds for all recordings.
    pub fn with_limit_of_environment(out: PathBuf) -> Self {
        Self { limit: limit_of_environment(), ..Self::new(out) }
    }

    /// What the environment asks for: `None` if it does not ask for a recording. Values that are not understood are
    /// told to `complain`, and the default is taken.
    pub fn from_vars<I, K, V>(vars: I, mut complain: impl FnMut(String)) -> Option<Self>
    where
        I: IntoIterator<Item = (K, V)>,
        K: Into<OsString>,
        V: Into<OsString>,
    {
        let mut found = Found::default();
        for (name, value) in vars {
            let (name, value) = (name.into(), value.into());
            if let Some(slot) = found.slot(&name) {
                // Of several, the first that says something.
                if slot.as_ref().is_none_or(|before| before.is_empty()) {
                    *slot = Some(value);
                }
            }
        }
        let out = unless_off(found.out.take())?;
        let rank = rank_text(|name| found.ranks.iter().find(|(known, _)| *known == name)?.1.clone());
        let pattern = Pattern { text: out, rank };
        let mut options = Self::new(pattern.path());
        options.rank = pattern.rank.as_deref().and_then(rank_number);
        options.pattern = Some(pattern).filter(Pattern::names_process);
        options.take(found, &mut complain);
        Some(options)
    }

    /// Takes over what is given besides where to.
    fn take(&mut self, found: Found, complain: &mut impl FnMut(String)) {
        let mut setting = Settings { complain };
        if let Some(limit) = setting.read(LIMIT, found.limit, read_limit, "the limit is 4 GiB") {
            self.limit = limit;
        }
        self.ring = setting.read(RING, unless_off(found.ring), read_ring, "all is kept");
        self.rotate = setting.read(ROTATE, unless_off(found.rotate), str::parse, "all goes to one file");
        if self.rotate.is_some() && self.ring.is_some() {
            self.rotate = None;
            (setting.complain)(format!(
                "{ROTATE}: a flight recorder ({RING}) keeps the newest in one file; it stays one"
            ));
        }
        if let Some(window) = setting.read(WINDOW, found.window, str::parse, "all of the run is recorded") {
            self.window = window;
        }
        self.categories = setting.read(CATEGORIES, found.categories, str::parse, "all are recorded");
        let triggers = unless_off(found.trigger).unwrap_or_default();
        let left_out = |error| (setting.complain)(format!("{TRIGGER}: {error}; it is left out"));
        self.triggers = parse_triggers(&triggers.to_string_lossy(), left_out);
        let dumps = found.dumps.unwrap_or_default();
        for part in dumps.to_string_lossy().split(',').filter(|part| !part.trim().is_empty()) {
            if let Err(error) = self.dumps.set(part) {
                (setting.complain)(format!("{DUMPS}: {error}; it is left out"));
            }
        }
        self.clock = setting.read(CLOCK, found.clock, read_clock, "the clock is `auto`").flatten();
    }

    /// Bytes that the spool may take.
    pub fn spool_limit(&self) -> u64 {
        match self.ring {
            Some(ring::Extent::Bytes(bytes)) => bytes,
            Some(ring::Extent::Time(_)) | None => self.limit,
        }
    }

    /// The name of the process in the trace.
    pub fn process_name(&self) -> String {
        self.process_name.clone().unwrap_or_else(program_name)
    }
}

/// Reads values of variables one by one.
struct Settings<'a, F> {
    complain: &'a mut F,
}

impl<F: FnMut(String)> Settings<'_, F> {
    /// What a variable says; `None` if it is not given. One that is not understood is told, and what happens
    /// `instead`.
    fn read<T>(
        &mut self,
        name: &str,
        value: Option<OsString>,
        read: impl FnOnce(&str) -> Result<T, SettingError>,
        instead: &str,
    ) -> Option<T> {
        let value = value.filter(|value| !value.is_empty())?;
        let error = match read(&value.to_string_lossy()) {
            Ok(understood) => return Some(understood),
            Err(error) => error,
        };
        (self.complain)(format!("{name}: {error}; {instead}"));
        None
    }
}

fn read_limit(text: &str) -> Result<u64, SettingError> {
    parse_bytes(text).ok_or_else(|| SettingError::new("a number of bytes such as `512MiB`", text))
}

fn read_ring(text: &str) -> Result<ring::Extent, SettingError> {
    parse_ring(text).ok_or_else(|| SettingError::new("a size such as `64MiB` or a time such as `30s`", text))
}

fn read_clock(text: &str) -> Result<Option<ClockKind>, SettingError> {
    parse_clock(text).ok_or_else(|| SettingError::new("`auto`, `ticks` or `monotonic`", text))
}

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
            name => {
                let place = RANK_VARIABLES.iter().position(|rank| *rank == name)?;
                self.ranks[place].0 = RANK_VARIABLES[place];
                Some(&mut self.ranks[place].1)
            }
        }
    }
}

/// The limit that the environment gives, or the default.
pub fn limit_of_environment() -> u64 {
    std::env::var(LIMIT).ok().and_then(|text| parse_bytes(&text)).unwrap_or(DEFAULT_LIMIT)
}

/// Whether a variable says no.
pub fn is_off(out: &OsStr) -> bool {
    out.to_str().is_some_and(|out| OUT_OFF_WORDS.iter().any(|word| out.eq_ignore_ascii_case(word)))
}

fn unless_off(value: Option<OsString>) -> Option<OsString> {
    value.filter(|value| !is_off(value))
}

/// `1000`, `64K`, `64KiB`, `64 MB`, `4G`: a unit is a power of 1024, whatever it is called.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let (number, unit) = number_and_unit(text)?;
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return None,
    };
    number.checked_mul(1 << shift)
}

/// `64MiB`, or `30s`, `500ms`, `10min`.
pub fn parse_ring(text: &str) -> Option<ring::Extent> {
    let span = match parse_time(text) {
        Some(time) => ring::Extent::Time(time),
        None => ring::Extent::Bytes(parse_bytes(text)?),
    };
    let is_something = !matches!(span, ring::Extent::Bytes(0) | ring::Extent::Time(Duration::ZERO));
    is_something.then_some(span)
}

/// `500ms`, `30s`, `10min`, `2h`; also `us` and `ns`.
pub fn parse_time(text: &str) -> Option<Duration> {
    let (number, unit) = number_and_unit(text)?;
    let seconds = |each: u64| number.checked_mul(each).map(Duration::from_secs);
    match unit {
        "ns" => Some(Duration::from_nanos(number)),
        "us" => Some(Duration::from_micros(number)),
        "ms" => Some(Duration::from_millis(number)),
        "s" => seconds(1),
        "min" => seconds(60),
        "h" => seconds(3600),
        _ => None,
    }
}

fn number_and_unit(text: &str) -> Option<(u64, &str)> {
    let text = text.trim();
    let n_digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(n_digits);
    Some((number.parse().ok()?, unit.trim()))
}

fn parse_clock(text: &str) -> Option<Option<ClockKind>> {
    match text.trim().to_ascii_lowercase().as_str() {
        "auto" => Some(None),
        "ticks" => Some(Some(ClockKind::Ticks)),
        "monotonic" => Some(Some(ClockKind::Monotonic)),
        _ => None,
    }
}

/// The name of the running program, without folder and ending.
pub fn program_name() -> String {
    let program = std::env::current_exe().ok();
    let stem = program.as_deref().and_then(|program| program.file_stem());
    stem.map_or_else(|| "program".to_owned(), |stem| stem.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(vars: &[(&str, &str)]) -> (Option<Options>, Vec<String>) {
        let mut complaints = Vec::new();
        let options = Options::from_vars(vars.iter().copied(), |complaint| complaints.push(complaint));
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
            assert_eq!(parsed(&[(OUT, "t.json"), (LIMIT, text)]).0.unwrap().limit, bytes);
        }
    }

    #[test]
    fn a_bad_value_is_told_once_and_the_default_is_taken() {
        for (name, text) in [(LIMIT, "lots"), (LIMIT, "-1"), (LIMIT, "99999999999G"), (CLOCK, "sundial")] {
            let (options, complaints) = parsed(&[(OUT, "t.json"), (name, text)]);
            let options = options.unwrap();
            assert_eq!((options.limit, options.clock), (DEFAULT_LIMIT, None));
            assert_eq!(complaints.len(), 1);
            assert!(complaints[0].contains(name) && complaints[0].contains(text), "{complaints:?}");
        }
    }

    #[test]
    fn the_rank_comes_from_the_first_variable_that_has_one() {
        let path = |vars: &[(&str, &str)]| parsed(vars).0.unwrap().out;
        assert_eq!(path(&[(OUT, "t.%r.json"), ("SLURM_PROCID", "3")]), PathBuf::from("t.3.json"));
        assert_eq!(path(&[("SLURM_PROCID", "3"), ("RANK", "1"), (OUT, "t.%r.json")]), PathBuf::from("t.1.json"));
        assert_eq!(path(&[(OUT, "t.%r.json")]), PathBuf::from("t.0.json"));
    }

    #[test]
    fn a_rank_is_a_number_or_none() {
        let rank = |vars: &[(&str, &str)]| parsed(vars).0.unwrap().rank;
        assert_eq!(rank(&[(OUT, "t.json"), ("RANK", ""), ("SLURM_PROCID", " 3 ")]), Some(3));
        assert_eq!(rank(&[(OUT, "t.json"), ("RANK", "first")]), None);
        assert_eq!(rank(&[(OUT, "t.json"), ("RANK", "99999999999")]), None);
        assert_eq!(rank(&[(OUT, "t.json")]), None);
    }

    #[test]
    fn triggers_and_what_they_may_write_are_read() {
        let vars = [(OUT, "t.json"), (TRIGGER, "step>50ms, panic"), (DUMPS, "files=2, after=5s")];
        let (options, complaints) = parsed(&vars);
        let options = options.unwrap();
        assert_eq!((options.triggers.len(), options.dumps.files, complaints), (2, 2, vec![]));
        assert_eq!(options.dumps.after, Duration::from_secs(5));
        let (options, complaints) = parsed(&[(OUT, "t.json"), (TRIGGER, "off"), (DUMPS, "")]);
        assert!(options.unwrap().triggers.is_empty() && complaints.is_empty());
        let (options, complaints) = parsed(&[(OUT, "t.json"), (TRIGGER, "step>1,panic"), (DUMPS, "files=x,after=1s")]);
        assert_eq!((options.unwrap().triggers, complaints.len()), (vec![Trigger::Panic], 2));
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
                // One line for each part that is wrong.
                prop_assert!(complaints.len() <= 1 + text.matches(',').count());
                prop_assert!(complaints.iter().all(|complaint| complaint.contains(name)));
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn variables_that_are_not_utf8_do_no_harm() {
        use std::os::unix::ffi::OsStringExt;
        let odd = OsString::from_vec(vec![b'/', 0xff, b'.', b'j']);
        let vars = [(odd.clone(), odd.clone()), (OsString::from(OUT), odd.clone())];
        let options = Options::from_vars(vars, |_| {}).unwrap();
        assert_eq!(options.out.as_os_str(), odd);
    }
}
