//! The original engine's interface: `TraceEvent`, `TraceWriter`, `global_trace`.

use crate::error::Error;
use crate::face::recorder::is_on;
use crate::face::text::Text;
use crate::flight::recording::Recording;
use crate::lifecycle::environment::{options_for_writer, options_from_vars};
use crate::lifecycle::{end, start};
use crate::os::environment;
use crate::os::process::fork_generation;
use crate::os::stderr::say;
use crate::process::current;
use crate::process::options::Options;
use crate::process::pushed::Pushed;
use crate::util::compiled_out::COMPILED_OUT;
use ferrum_trace_format::spool::record::TEXT_BYTES_MAX;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// A slice as in the original engine's files: whole microseconds.
///
/// Files of this recorder have three decimals and also contain events of other phases, such as thread names. Both can
/// be deserialized: begin and end are rounded, and missing fields are zero or empty.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "FileEvent")]
pub struct TraceEvent {
    /// Its name.
    pub name: String,
    /// Its category.
    pub cat: String,
    /// The phase: `X` for a slice.
    pub ph: char,
    /// Begin, in microseconds from the start of the trace.
    pub ts: u64,
    /// Its duration in microseconds.
    pub dur: u64,
    /// The process.
    pub pid: u32,
    /// The row of the timeline.
    pub tid: u32,
    /// Arguments, such as the shape of a tensor.
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    pub args: serde_json::Map<String, serde_json::Value>,
}

impl TraceEvent {
    /// Creates a slice that began `start_ts_us` microseconds after the start of the trace and lasted `dur_ms`
    /// milliseconds.
    ///
    /// ```
    /// let event = ferrum_trace::TraceEvent::complete("rms_norm", "norm", 1_000, 0.25, 1);
    /// assert_eq!((event.ph, event.dur), ('X', 250));
    /// ```
    pub fn complete(name: impl Into<String>, cat: impl Into<String>, start_ts_us: u64, dur_ms: f64, tid: u32) -> Self {
        Self {
            name: name.into(),
            cat: cat.into(),
            ph: 'X',
            ts: start_ts_us,
            dur: (dur_ms * 1000.0).round() as u64,
            pid: 0,
            tid,
            args: serde_json::Map::new(),
        }
    }
}

/// An event as it is in a file.
#[derive(Deserialize)]
struct FileEvent {
    name: String,
    #[serde(default)]
    cat: String,
    ph: char,
    #[serde(default)]
    ts: Micros,
    #[serde(default)]
    dur: Micros,
    #[serde(default)]
    pid: u32,
    #[serde(default)]
    tid: u32,
    #[serde(default)]
    args: serde_json::Map<String, serde_json::Value>,
}

/// Microseconds: exact if whole, else with the precision of a float.
#[derive(Clone, Copy, Deserialize)]
#[serde(untagged)]
enum Micros {
    Whole(u64),
    Fraction(f64),
}

impl Default for Micros {
    fn default() -> Self {
        Self::Whole(0)
    }
}

impl Micros {
    fn as_float(self) -> f64 {
        match self {
            Self::Whole(micros) => micros as f64,
            Self::Fraction(micros) => micros,
        }
    }

    fn rounded(self) -> u64 {
        match self {
            Self::Whole(micros) => micros,
            Self::Fraction(micros) => micros.round() as u64,
        }
    }
}

impl From<FileEvent> for TraceEvent {
    fn from(event: FileEvent) -> Self {
        let ts = event.ts.rounded();
        let dur = match (event.ts, event.dur) {
            (Micros::Whole(_), dur) => dur.rounded(),
            // The end is rounded, not the duration, so that adjacent slices stay adjacent.
            (ts, dur) => ((ts.as_float() + dur.as_float()).round() as u64).saturating_sub(ts.rounded()),
        };
        let FileEvent { name, cat, ph, pid, tid, args, .. } = event;
        Self { name, cat, ph, ts, dur, pid, tid, args }
    }
}

/// A trace that slices are pushed to when they have ended.
///
/// Each writer has its own file, which is complete after every [`flush`](Self::flush) and after the drop. Pushing takes
/// no lock and does not allocate. Recording with [`span!`](crate::span) costs less and has the exact begin.
///
/// ```
/// # let folder = std::env::temp_dir().join(format!("ferrum-writer-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// let writer = ferrum_trace::TraceWriter::enabled(folder.join("trace.json"));
/// writer.push("rms_norm", "norm", 0.125, 1);
/// writer.flush().unwrap();
/// # drop(writer);
/// # std::fs::remove_dir_all(folder).unwrap();
/// ```
#[derive(Debug)]
pub struct TraceWriter {
    target: Target,
}

#[derive(Debug)]
enum Target {
    Nothing,
    /// The recording of the process.
    Process,
    /// Its own recording, and the fork generation that may use it.
    Own(Arc<Recording>, u64),
}

/// Returns the writer of the process's recording, which `FERRUM_TRACE_OUT` switches on. The file is complete at the end
/// of the process, without a call.
///
/// ```
/// ferrum_trace::global_trace().push("rms_norm", "norm", 0.125, 1); // nothing happens: recording is off
/// ```
pub fn global_trace() -> &'static TraceWriter {
    static GLOBAL: OnceLock<TraceWriter> = OnceLock::new();
    GLOBAL.get_or_init(|| TraceWriter { target: Target::Process })
}

/// Brings the file of the process's recording up to date, if there is a recording. Does not start one: a process that
/// calls only this creates no file.
///
/// ```
/// ferrum_trace::flush_global_trace();
/// ```
pub fn flush_global_trace() {
    let _ = global_trace().flush();
}

impl TraceWriter {
    /// Creates a writer for the path in `FERRUM_TRACE_OUT`, or one that does nothing if that is unset or empty.
    pub fn from_env() -> Self {
        Self::from_options(options_from_vars(environment::variables(), |complaint| say(&complaint)))
    }

    /// Like [`from_env`](Self::from_env), for the given variables.
    ///
    /// ```
    /// let writer = ferrum_trace::TraceWriter::from_env_vars([("FERRUM_TRACE_OUT", "")]);
    /// assert!(!writer.is_enabled());
    /// ```
    pub fn from_env_vars<I, K, V>(vars: I) -> Self
    where
        I: IntoIterator<Item = (K, V)>,
        K: Into<String>,
        V: Into<String>,
    {
        let vars = vars.into_iter().map(|(name, value)| (name.into(), value.into()));
        Self::from_options(options_from_vars(vars, |complaint| say(&complaint)))
    }

    fn from_options(options: Option<Options>) -> Self {
        options.map_or_else(Self::disabled, |options| Self::of(Self::start(&options)))
    }

    /// Creates a writer for this path. If the path cannot be written, prints one line and returns a writer that does
    /// nothing.
    pub fn enabled(out_path: PathBuf) -> Self {
        Self::of(options_for_writer(out_path).and_then(|options| Self::start(&options)))
    }

    fn start(options: &Options) -> Result<Target, Error> {
        if COMPILED_OUT {
            return Ok(Target::Nothing);
        }
        start::start_private(options).map(|recording| Target::Own(recording, fork_generation()))
    }

    /// Returns a writer for the target, or prints the error and returns a writer that does nothing.
    fn of(started: Result<Target, Error>) -> Self {
        let target = started.unwrap_or_else(|error| {
            say(&format!("{error}; nothing is recorded"));
            Target::Nothing
        });
        Self { target }
    }

    /// Creates a writer that does nothing.
    ///
    /// ```
    /// assert!(!ferrum_trace::TraceWriter::disabled().is_enabled());
    /// ```
    pub fn disabled() -> Self {
        Self { target: Target::Nothing }
    }

    /// Returns true if pushed events are recorded.
    #[inline]
    pub fn is_enabled(&self) -> bool {
        match &self.target {
            Target::Nothing => false,
            Target::Process => is_on(),
            Target::Own(_, generation) => *generation == fork_generation(),
        }
    }

    /// Records a slice that ends now and lasted `dur_ms` milliseconds, in the row `tid`.
    #[inline]
    pub fn push(&self, name: impl Text, cat: impl Text, dur_ms: f64, tid: u32) {
        if self.is_enabled() {
            name.with_str(|name| cat.with_str(|cat| self.push_slice(name, cat, dur_ms, tid, None)));
        }
    }

    /// Like [`push`](Self::push), with arguments. If their JSON is longer than 8 KiB, a text that states its length
    /// replaces them.
    pub fn push_with_args(
        &self,
        name: impl Text,
        cat: impl Text,
        dur_ms: f64,
        tid: u32,
        args: serde_json::Map<String, serde_json::Value>,
    ) {
        if !self.is_enabled() {
            return;
        }
        let json = Some(args).filter(|args| !args.is_empty()).map(json_text);
        name.with_str(|name| cat.with_str(|cat| self.push_slice(name, cat, dur_ms, tid, json.as_deref())));
    }

    /// Counts an event that could not be pushed as dropped.
    pub(crate) fn count_lost(&self) {
        match &self.target {
            Target::Nothing => {}
            Target::Process => current::count_lost(),
            Target::Own(recording, _) => recording.count_dropped(1),
        }
    }

    fn push_slice(&self, name: &str, cat: &str, dur_ms: f64, tid: u32, json: Option<&str>) {
        // Saturates: NaN and negative durations become zero.
        let nanos = (dur_ms * 1e6).round() as u64;
        let pushed = Pushed { name, category: cat, tid, nanos, json };
        match &self.target {
            Target::Nothing => {}
            Target::Process => pushed.record(),
            Target::Own(recording, _) => pushed.record_in(recording.session()),
        }
    }

    /// Brings the file up to date. It contains each event that was pushed before once, however often this is called. A
    /// file that existed before the writer is replaced only when there is an event to write.
    ///
    /// # Errors
    ///
    /// If the file cannot be written. No event is lost in this case.
    pub fn flush(&self) -> io::Result<()> {
        let result = match &self.target {
            Target::Own(recording, _) if self.is_enabled() => recording.flush(),
            Target::Process => current::running().map_or(Ok(()), |recording| recording.flush()),
            Target::Nothing | Target::Own(..) => Ok(()),
        };
        result.map_err(Error::into_io)
    }
}

impl Drop for TraceWriter {
    fn drop(&mut self) {
        let is_ours = self.is_enabled();
        match std::mem::replace(&mut self.target, Target::Nothing) {
            Target::Own(recording, _) if is_ours => {
                end::close_and_complete(&recording);
                recording.release_memory();
            }
            // In a forked child: the session is the parent's and must not be touched.
            Target::Own(recording, _) => std::mem::forget(recording),
            Target::Nothing | Target::Process => {}
        }
    }
}

fn json_text(args: serde_json::Map<String, serde_json::Value>) -> String {
    let json = escape_final_backslashes(serde_json::Value::Object(args).to_string());
    if json.len() <= TEXT_BYTES_MAX {
        return json;
    }
    format!("arguments of {} bytes left out", json.len())
}

/// Writes a backslash at the end of a text as `\u005c`: Perfetto takes the quote after `\\\\` for an escaped one.
fn escape_final_backslashes(json: String) -> String {
    if !json.contains(r#"\\""#) {
        return json;
    }
    let mut escaped_json = String::with_capacity(json.len() + 16);
    let mut chars = json.chars().peekable();
    while let Some(char) = chars.next() {
        match (char, chars.peek().copied()) {
            ('\\', Some('\\')) => {
                chars.next();
                escaped_json.push_str(if chars.peek() == Some(&'"') { r"\u005c" } else { r"\\" });
            }
            ('\\', Some(escaped)) => {
                chars.next();
                escaped_json.extend([char, escaped]);
            }
            _ => escaped_json.push(char),
        }
    }
    escaped_json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backslash_at_the_end_of_a_text_is_escaped_for_perfetto() {
        let value = serde_json::json!({"path": "C:\\", "quote\\": "\\\"", "plain": "a\\b\n", "two": "\\\\"});
        let escaped = escape_final_backslashes(value.to_string());
        assert!(!escaped.contains(r#"\\","#) && !escaped.contains(r#"\\"}"#), "{escaped}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
    }
}
