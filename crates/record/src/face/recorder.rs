//! Recording by the program's own decision.

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
use ferrum_trace_model::settings::{Categories, DumpLimits, Extent, Trigger, Window};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The recording of this process, begun by the program.
///
/// If `FERRUM_TRACE_OUT` asks for a recording, that one wins, since whoever runs the program decides:
/// [`start`](RecorderBuilder::start) returns a handle to it, the settings of the builder are not used, and one line on standard error says so.
/// [`is_from_environment`](Self::is_from_environment) tells. [`finish`](Self::finish) ends it like any other.
///
/// Dropping it changes nothing: recording goes on until [`finish`](Self::finish) or the end of the process, and the file
/// is complete either way.
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
    /// A builder with the defaults and no path.
    pub fn builder() -> RecorderBuilder {
        RecorderBuilder { options: Options::new(PathBuf::new()) }
    }

    /// Brings the output up to date: it then holds all that was recorded before the call, and recording goes on. The
    /// cost grows with what is new.
    ///
    /// # Errors
    ///
    /// If the output cannot be written. Nothing is lost by that.
    pub fn flush(&self) -> Result<(), Error> {
        self.current().flush()
    }

    /// Counts so far. Reads what has been recorded since the last call, so it is not for the hot path.
    ///
    /// # Errors
    ///
    /// If the spool cannot be read.
    pub fn stats(&self) -> Result<Stats, Error> {
        self.current().stats()
    }

    /// Where the trace goes. Another file than asked for if a live process writes to that. If there are several, one after the
    /// other, the one that is being recorded to.
    pub fn path(&self) -> PathBuf {
        self.current().output_path().to_owned()
    }

    /// Whether this is the recording that `FERRUM_TRACE_OUT` asked for, so that the settings of the builder are not used.
    pub fn is_from_environment(&self) -> bool {
        self.is_from_environment
    }

    /// The recording may go on in another file than it began in.
    fn current(&self) -> Arc<Recording> {
        let going_on = current::running().filter(|current| current.recording() == self.recording.recording());
        going_on.unwrap_or_else(|| Arc::clone(&self.recording))
    }

    /// Ends the recording: the output is complete. Spans that are still open are not in it.
    ///
    /// # Errors
    ///
    /// If the output cannot be written (the spool is kept then), or if the recording has ended already.
    pub fn finish(self) -> Result<Stats, Error> {
        end::finish(self.recording.recording())
    }
}

/// How to record; see [`Recorder::builder`].
#[derive(Clone, Debug)]
pub struct RecorderBuilder {
    options: Options,
}

impl RecorderBuilder {
    /// Where the trace goes. The ending chooses the form: `.pftrace` is Perfetto's, `.spool` leaves the spool, anything else is Chrome
    /// JSON; `.gz` or `.zst` behind it packs that. In a directory, the file is named after program and process.
    pub fn path(mut self, path: impl Into<PathBuf>) -> Self {
        self.options.session.out = path.into();
        self
    }

    /// Bytes that the spool may take, 4 GiB if not given. What comes later is counted, not recorded. At least 1 MiB.
    pub fn limit(mut self, bytes: u64) -> Self {
        self.options.session.limit = bytes;
        self
    }

    /// A flight recorder: the newest `bytes` are kept, and what is older is overwritten. At least 1 MiB. Memory and disk stay as they are,
    /// and of each thread the last moments are kept, however much others record.
    pub fn ring(mut self, bytes: u64) -> Self {
        self.options.session.ring = Some(Extent::Bytes(bytes));
        self
    }

    /// A flight recorder that keeps at least this time, as far as the [`limit`](Self::limit) has room for it.
    pub fn ring_of(mut self, time: Duration) -> Self {
        self.options.session.ring = Some(Extent::Time(time));
        self
    }

    /// Several files, one after the other, each of about so many bytes of spool: `trace.001.json`, `trace.002.json` and so on. Each is a
    /// complete trace, written in the background while the next one records; no event is lost in between. At least 1 MiB. Not for
    /// a flight recorder.
    pub fn rotate(mut self, bytes: u64) -> Self {
        self.options.session.rotate.get_or_insert_default().bytes = Some(bytes);
        self
    }

    /// The same by time: each file has so much of it. May be given together with [`rotate`](Self::rotate).
    pub fn rotate_every(mut self, time: Duration) -> Self {
        self.options.session.rotate.get_or_insert_default().every = Some(time);
        self
    }

    /// How many complete files are kept of those: the oldest is removed when there is one more. All are kept if not given.
    pub fn rotate_keep(mut self, files: u32) -> Self {
        self.options.session.rotate.get_or_insert_default().keep = Some(files.max(1));
        self
    }

    /// What [`dump`](crate::dump()) and triggers may write.
    pub fn dumps(mut self, limits: DumpLimits) -> Self {
        self.options.flight.dumps = limits;
        self
    }

    /// Which part of the run is recorded: all of it if not given.
    pub fn window(mut self, window: Window) -> Self {
        self.options.window = window;
        self
    }

    /// Which categories are recorded: all of them if not given. [`control::set_categories`](crate::control::set_categories) changes
    /// that while the program runs.
    pub fn categories(mut self, categories: Categories) -> Self {
        self.options.categories = Some(categories);
        self
    }

    /// Something that has the flight recorder write a [`dump`](crate::dump()) by itself. May be given several times.
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

    /// The same for what only the program knows: `condition` is asked at the end of each step, and `name` is the reason that the trace gives.
    ///
    /// It runs on the thread of the engine, where the [`StepSpan`](crate::llm::StepSpan) is dropped, so the engine waits for it. One that
    /// panics is taken for a no.
    pub fn trigger_when(
        mut self,
        name: impl Into<String>,
        condition: impl Fn(&EndedStep) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.options.flight.predicates.push(Predicate { name: name.into(), condition: Arc::new(condition) });
        self
    }

    /// The name of the process in the trace, that of the program if not given.
    pub fn process_name(mut self, name: impl Into<String>) -> Self {
        self.options.session.process_name = Some(name.into());
        self
    }

    /// Which of the processes of one run this is, that of `RANK`, `OMPI_COMM_WORLD_RANK` or `SLURM_PROCID` if not given. Viewers
    /// sort processes by it, and `ferrum-trace merge` names them after it.
    pub fn rank(mut self, rank: u32) -> Self {
        self.options.session.rank = Some(rank);
        self
    }

    /// Takes times from the system's monotonic clock even where the processor's counter could be used. Costs more.
    pub fn monotonic_clock(mut self) -> Self {
        self.options.session.clock = Some(ClockKind::Monotonic);
        self
    }

    /// Writes times in JSON as whole microseconds, and `dur` in every event, for readers that know no other: `FERRUM_TRACE_TIME=us`. Begin
    /// and end are rounded. Has no effect on other forms.
    pub fn whole_microseconds(mut self) -> Self {
        self.options.session.whole_micros = true;
        self
    }

    /// Begins to record, or returns the recording that `FERRUM_TRACE_OUT` asked for; see [`Recorder`].
    ///
    /// # Errors
    ///
    /// If no path was given, it cannot be written to, or the program has begun a recording already that goes on.
    pub fn start(self) -> Result<Recorder, Error> {
        if crate::COMPILED_OUT {
            return Err(Error::not_recording());
        }
        mode();
        let mut options = self.options;
        let session = &mut options.session;
        session.rotate = session.rotate.filter(|rotate| session.ring.is_none() && rotate.is_something());
        let started = start::start(options);
        serve_http_if_set();
        let (recording, is_from_environment) = started?;
        Ok(Recorder { recording, is_from_environment })
    }
}

/// Brings the output of this process's recording up to date, whoever began it.
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

/// Ends this process's recording, whoever began it. Nothing needs to: the file is complete at the end of the process.
///
/// # Errors
///
/// If nothing is being recorded, or the output cannot be written.
pub fn finish() -> Result<Stats, Error> {
    let recording = current::running().ok_or_else(Error::not_recording)?;
    end::finish(recording.recording())
}

/// Counts of this process's recording, if there is one. Reads what has been recorded since the last call.
///
/// ```
/// assert_eq!(ferrum_trace::stats(), None);
/// ```
pub fn stats() -> Option<Stats> {
    current::running()?.stats().ok()
}

/// Whether this process is recording. Asks the environment if nobody has yet.
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

/// Names the calling thread in the trace. Threads that `std::thread::Builder` has named need not.
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
        // It comes with the first event: a name alone is no recording.
        return;
    }
    if let Some(id) = attach::thread_id() {
        quietly(|| current::active()?.define_thread_name(id, name));
    }
}
