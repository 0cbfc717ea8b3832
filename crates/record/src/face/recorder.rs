//! Recordings that the program starts itself, and functions for the recording of the process.

use crate::error::Error;
use crate::flight::recording::Recording;
use crate::flight::step::EndedStep;
use crate::flight::triggers::Predicate;
use crate::lifecycle::{end, start};
use crate::os::clock::ClockKind;
use crate::probe::mode::{mode, serve_http_if_set};
use crate::process::attach;
use crate::process::current;
use crate::process::options::Options;
use crate::process::switch::OFF;
use crate::stats::Stats;
use crate::thread::buffer::quietly;
use crate::util::compiled_out::COMPILED_OUT;
use ferrum_trace_model::settings::{Categories, DumpLimits, Extent, Trigger, Window};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A recording of this process that the program has started.
///
/// A recording that `FERRUM_TRACE_OUT` requests has precedence, since the person who runs the program decides:
/// [`start`](RecorderBuilder::start) returns a handle to it, the settings of the builder are not used, one line on
/// standard error says so, and [`is_from_environment`](Self::is_from_environment) returns true.
/// [`finish`](Self::finish) ends it like any other.
///
/// Dropping the handle changes nothing: recording continues until [`finish`](Self::finish) or the end of the process,
/// and the file is complete either way.
///
/// ```
/// # fn main() -> Result<(), ferrum_trace::Error> {
/// # let folder = std::env::temp_dir().join(format!("ferrum-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// let recorder = ferrum_trace::Recorder::builder().path(folder.join("trace.json")).limit(1 << 30).start()?;
/// {
///     let _span = ferrum_trace::span!("work");
/// }
/// let stats = recorder.finish()?;
/// assert_eq!(stats.recorded, 1);
/// # std::fs::remove_dir_all(folder).unwrap();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Recorder {
    recording: Arc<Recording>,
    is_from_environment: bool,
}

impl Recorder {
    /// Returns a builder with the defaults and no path.
    pub fn builder() -> RecorderBuilder {
        RecorderBuilder { options: Options::new(PathBuf::new()) }
    }

    /// Brings the output up to date: it then has all events that were recorded before the call, and recording
    /// continues. The cost grows with the number of new events.
    ///
    /// # Errors
    ///
    /// If the output cannot be written. No event is lost then.
    pub fn flush(&self) -> Result<(), Error> {
        self.current().flush()
    }

    /// Returns the counts so far. Reads the events recorded since the last call, so it is not for the hot path.
    ///
    /// # Errors
    ///
    /// If the spool cannot be read.
    pub fn stats(&self) -> Result<Stats, Error> {
        self.current().stats()
    }

    /// Returns the path of the trace. It differs from the path of the builder if another live process records to that
    /// one. With rotation, it is the path of the current part.
    pub fn path(&self) -> PathBuf {
        self.current().output_path().to_owned()
    }

    /// Returns true if `FERRUM_TRACE_OUT` requested this recording, so that the settings of the builder are not used.
    pub fn is_from_environment(&self) -> bool {
        self.is_from_environment
    }

    /// Returns the current part of the recording.
    fn current(&self) -> Arc<Recording> {
        let current = current::running().filter(|running| running.recording() == self.recording.recording());
        current.unwrap_or_else(|| Arc::clone(&self.recording))
    }

    /// Ends the recording and completes the output. Spans that are still open end there and are marked `unclosed`.
    ///
    /// # Errors
    ///
    /// If the output cannot be written (the spool is kept then), or if the recording has ended already.
    pub fn finish(self) -> Result<Stats, Error> {
        end::finish(self.recording.recording())
    }
}

/// Options of a recording; see [`Recorder::builder`].
#[derive(Clone, Debug)]
pub struct RecorderBuilder {
    options: Options,
}

impl RecorderBuilder {
    /// Sets the path of the trace. The extension chooses the output format: `.pftrace` is Perfetto's, `.spool` keeps
    /// the spool, anything else is Chrome JSON; a further `.gz` or `.zst` compresses the file. In a directory, the file
    /// is named after program and process.
    pub fn path(mut self, path: impl Into<PathBuf>) -> Self {
        self.options.session.out = path.into();
        self
    }

    /// Sets the maximum size of the spool in bytes, by default 4 GiB, at least 1 MiB. Later events are counted, not
    /// recorded.
    pub fn limit(mut self, bytes: u64) -> Self {
        self.options.session.limit = bytes;
        self
    }

    /// Makes the recording a flight recorder, which keeps the newest `bytes`, at least 1 MiB, and overwrites older
    /// events. Memory and disk use do not grow, and the last events of each thread are kept, however much other threads
    /// record.
    pub fn ring(mut self, bytes: u64) -> Self {
        self.options.session.ring = Some(Extent::Bytes(bytes));
        self
    }

    /// Makes the recording a flight recorder that keeps at least this time, if the [`limit`](Self::limit) has room for
    /// it.
    pub fn ring_of(mut self, time: Duration) -> Self {
        self.options.session.ring = Some(Extent::Time(time));
        self
    }

    /// Rotates by size: continues in a new file after about this many bytes of spool, at least 1 MiB. The files are
    /// named `trace.001.json`, `trace.002.json` and so on. Each is a complete trace, which is written in the background
    /// while the next one is recorded; no event is lost in between. Has no effect on a flight recorder.
    pub fn rotate(mut self, bytes: u64) -> Self {
        self.options.session.rotate.get_or_insert_default().bytes = Some(bytes);
        self
    }

    /// Rotates by time: continues in a new file after this time. May be combined with [`rotate`](Self::rotate).
    pub fn rotate_every(mut self, time: Duration) -> Self {
        self.options.session.rotate.get_or_insert_default().every = Some(time);
        self
    }

    /// Sets the number of complete files that rotation keeps, by default all. The oldest one is removed when there are
    /// more.
    pub fn rotate_keep(mut self, files: u32) -> Self {
        self.options.session.rotate.get_or_insert_default().keep = Some(files.max(1));
        self
    }

    /// Sets the limits of dumps, by [`dump`](crate::dump()) and by triggers.
    pub fn dumps(mut self, limits: DumpLimits) -> Self {
        self.options.flight.dumps = limits;
        self
    }

    /// Sets the part of the run that is recorded, by default all of it.
    pub fn window(mut self, window: Window) -> Self {
        self.options.window = window;
        self
    }

    /// Sets the categories that are recorded, by default all.
    /// [`control::set_categories`](crate::control::set_categories) changes them while the program runs.
    pub fn categories(mut self, categories: Categories) -> Self {
        self.options.categories = Some(categories);
        self
    }

    /// Adds a condition that causes a [`dump`](crate::dump()) of a flight recorder. May be called several times.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = std::env::temp_dir().join(format!("ferrum-doc-trigger-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// let recorder = ferrum_trace::Recorder::builder()
    ///     .path(folder.join("trace.json"))
    ///     .ring(64 << 20)
    ///     .trigger("decode>3xp99".parse()?)
    ///     .trigger("ttft>500ms".parse()?)
    ///     .trigger_when("large batch", |ended| ended.step.batch > 256)
    ///     .start()?;
    /// # recorder.finish()?;
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn trigger(mut self, trigger: Trigger) -> Self {
        self.options.flight.triggers.push(trigger);
        self
    }

    /// Adds a condition of the program's own that causes a dump: `condition` is called at the end of each step, and
    /// `name` is the reason in the trace.
    ///
    /// It runs on the thread that drops the [`StepSpan`](crate::llm::StepSpan), so the engine waits for it. A panic
    /// counts as false.
    pub fn trigger_when(
        mut self,
        name: impl Into<String>,
        condition: impl Fn(&EndedStep) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.options.flight.predicates.push(Predicate { name: name.into(), condition: Arc::new(condition) });
        self
    }

    /// Sets the name of the process in the trace, by default that of the program.
    pub fn process_name(mut self, name: impl Into<String>) -> Self {
        self.options.session.process_name = Some(name.into());
        self
    }

    /// Sets the rank of the process in its run, by default that of `RANK`, `OMPI_COMM_WORLD_RANK` or `SLURM_PROCID`.
    /// Viewers sort processes by it, and `ferrum-trace merge` names them after it.
    pub fn rank(mut self, rank: u32) -> Self {
        self.options.session.rank = Some(rank);
        self
    }

    /// Takes times from the system's monotonic clock even where the processor's counter could be used. This costs more.
    pub fn monotonic_clock(mut self) -> Self {
        self.options.session.clock = Some(ClockKind::Monotonic);
        self
    }

    /// Writes times in JSON as whole microseconds, and `dur` in every event, for readers that accept nothing else, as
    /// `FERRUM_TRACE_TIME=us` does. Begin and end are rounded. Has no effect on other output formats.
    pub fn whole_microseconds(mut self) -> Self {
        self.options.session.whole_micros = true;
        self
    }

    /// Installs no handler of `SIGBUS`, as `FERRUM_TRACE_SIGBUS=off` does. Without it, the program ends if another
    /// process truncates the spool while it is recorded. The handler acts on faults in the spool alone, and passes all
    /// others on to the handler that was there before.
    pub fn without_sigbus_handler(mut self) -> Self {
        self.options.session.handles_sigbus = false;
        self
    }

    /// Starts to record, or returns the recording that `FERRUM_TRACE_OUT` requested; see [`Recorder`].
    ///
    /// # Errors
    ///
    /// If no path was given, if it cannot be written to, or if the program is already recording.
    pub fn start(self) -> Result<Recorder, Error> {
        if COMPILED_OUT {
            return Err(Error::not_recording());
        }
        mode();
        let mut options = self.options;
        let session = &mut options.session;
        session.rotate = session.rotate.filter(|rotate| session.ring.is_none() && rotate.is_on());
        let started = start::start(options);
        serve_http_if_set();
        let (recording, is_from_environment) = started?;
        Ok(Recorder { recording, is_from_environment })
    }
}

/// Brings the output of this process's recording up to date, whether the program or the environment started it.
///
/// # Errors
///
/// If nothing is being recorded, or the output cannot be written.
///
/// ```
/// if ferrum_trace::is_on() {
///     ferrum_trace::flush().unwrap();
/// }
/// ```
pub fn flush() -> Result<(), Error> {
    let recording = current::running().ok_or_else(Error::not_recording)?;
    recording.flush()
}

/// Ends this process's recording, whether the program or the environment started it. The call is optional: the file is
/// also completed at the end of the process.
///
/// # Errors
///
/// If nothing is being recorded, or the output cannot be written.
pub fn finish() -> Result<Stats, Error> {
    let recording = current::running().ok_or_else(Error::not_recording)?;
    end::finish(recording.recording())
}

/// Returns the counts of this process's recording, if there is one. Reads the events recorded since the last call.
///
/// ```
/// assert_eq!(ferrum_trace::stats(), None);
/// ```
pub fn stats() -> Option<Stats> {
    current::running()?.stats().ok()
}

/// Returns true if this process is recording. The first call reads the environment.
///
/// ```
/// assert!(!ferrum_trace::is_on());
/// ```
#[inline]
pub fn is_on() -> bool {
    mode() != OFF
}

/// Names this process in the trace.
///
/// ```
/// ferrum_trace::set_process_name("engine");
/// ```
pub fn set_process_name(name: &str) {
    if is_on() {
        quietly(|| {
            let session = current::active()?;
            current::remember_process_name(name);
            session.define_process(name)
        });
    }
}

/// Names the calling thread in the trace. Not needed for threads that `std::thread::Builder` has named.
///
/// ```
/// ferrum_trace::set_thread_name("decode loop");
/// ```
pub fn set_thread_name(name: &str) {
    if !is_on() || quietly(current::active).is_none() {
        return;
    }
    let is_remembered = attach::remember_name(name);
    if is_remembered && !attach::is_attached() {
        // The name is written with the first event: a thread without events is not in the trace.
        return;
    }
    if let Some(id) = attach::thread_id().filter(|_| !attach::rename(name)) {
        // The thread is ending.
        quietly(|| current::active()?.define_thread_name(id, name));
    }
}
