//! Control of the process's recording while the program runs: status, pause, stop and flush.
//!
//! Nothing here makes a recording thread wait: stopping turns recording off, and a thread of low priority writes the
//! file.

use crate::error::Error;
use crate::flight::recording::Recording;
use crate::lifecycle::{end, unwritten};
#[cfg(feature = "http")]
use crate::process::current::with_registry;
use crate::process::switch::{self, OFF, SuspendReason};
use crate::process::{categories, current};
use crate::recording::background;
use crate::recording::part::Part;
use crate::stats::Stats;
use crate::util::compiled_out::COMPILED_OUT;
use crate::watch::window;
use ferrum_trace_model::RefusedDumps;
use ferrum_trace_model::settings::Categories;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// State of the process's recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// There is no recording.
    Off,
    /// Events are recorded.
    Recording,
    /// The recording is paused until [`resume`](crate::control::resume).
    Paused,
    /// The [`Window`](crate::Window) of the recording is not open.
    OutsideWindow,
}

impl State {
    /// Returns the name of the state.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Recording => "recording",
            Self::Paused => "paused",
            Self::OutsideWindow => "outside window",
        }
    }
}

/// Status of the process's recording, returned by [`status`](crate::control::status).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Status {
    /// State of the recording.
    pub state: State,
    /// Path of the output, if there is a recording.
    pub path: Option<PathBuf>,
    /// Size of the spool so far, in bytes.
    pub spool_bytes: u64,
    /// Reason why no more events fit at present, if so. On a full disk, recording continues when there is room again.
    pub full: Option<&'static str>,
    /// Number of events that were lost so far, in all files of a rotating recording. Those in signal handlers that
    /// interrupted the recorder are added at the next flush.
    pub dropped: u64,
    /// Number of complete files of a rotating recording that could not be written, for example because the disk was
    /// full. They are tried again.
    pub unwritten: usize,
    /// The last error of a file of a rotating recording that could not be started or written, until it has been.
    pub error: Option<String>,
    /// Number of steps that the window has counted, if it counts them.
    pub steps: Option<u64>,
    /// Number of files that are being written in the background, including those of earlier recordings.
    pub writing: usize,
    /// Categories that are recorded.
    pub categories: Categories,
    /// Number of dumps that were granted to [`dump`](crate::dump()) or a [`Trigger`](crate::Trigger).
    pub dumps: u64,
    /// Number of dumps that were refused, by reason.
    pub dumps_refused: RefusedDumps,
}

/// Returns the status of the process's recording.
pub(crate) fn status() -> Status {
    let recording = running().ok();
    let part = recording.as_ref().and_then(|recording| recording.part());
    Status {
        state: recording.as_ref().map_or(State::Off, |_| state()),
        path: recording.as_ref().map(|recording| recording.output_path().to_owned()),
        spool_bytes: recording.as_ref().map_or(0, |recording| recording.spool().n_bytes()),
        dropped: recording.as_ref().map_or(0, |recording| recording.n_lost()),
        unwritten: part.map_or(0, Part::n_unwritten),
        error: part.and_then(Part::error),
        full: recording.as_ref().and_then(|recording| recording.why_full()),
        dumps: recording.as_ref().map_or(0, |recording| recording.dumps().n_granted()),
        dumps_refused: recording.as_ref().map_or_else(RefusedDumps::default, |recording| recording.dumps().refused()),
        steps: recording.as_ref().and_then(|_| window::n_steps()),
        writing: background::n_active(),
        categories: categories::current(),
    }
}

fn state() -> State {
    if switch::is_suspended_by(SuspendReason::Paused) {
        State::Paused
    } else if switch::is_outside_window() {
        State::OutsideWindow
    } else {
        State::Recording
    }
}

/// Returns the process's recording, or an error if there is none.
pub(crate) fn running() -> Result<Arc<Recording>, Error> {
    let recording = if COMPILED_OUT || switch::clock() == OFF { None } else { current::running() };
    recording.ok_or_else(Error::not_recording)
}

/// Pauses or resumes the process's recording.
pub(crate) fn set_paused(is_paused: bool) -> Result<(), Error> {
    running()?;
    switch::set_suspended(SuspendReason::Paused, is_paused);
    Ok(())
}

/// Records these categories until the process's recording ends.
#[cfg(feature = "http")]
pub(crate) fn set_categories_of_recording(categories: Categories) -> Result<(), Error> {
    with_registry(|registry| {
        let options = registry.options.as_mut().filter(|_| registry.active.is_some());
        // A forked child starts with them too.
        options.ok_or_else(Error::not_recording)?.categories = Some(categories.clone());
        categories::set_for_recording(categories);
        Ok(())
    })
}

/// Ends the process's recording. Its file is completed by a thread of low priority.
pub(crate) fn stop() -> Result<Writing<Stats>, Error> {
    let recording = end::take_active(running()?.recording()).ok_or_else(Error::not_recording)?;
    let path = recording.output_path().to_owned();
    let written = background::on_deputy(background::Announced::new(), move || {
        let result = end::write_output(&recording);
        if result.is_ok() && recording.part().is_some() {
            unwritten::write_all();
        }
        if result.is_ok() || !end::hand_back(&recording) {
            recording.release_memory();
        }
        Some(result)
    });
    Ok(Writing { path, written })
}

/// Brings the output up to date, on a thread of low priority.
pub(crate) fn flush() -> Result<Writing<()>, Error> {
    let recording = running()?;
    let path = recording.output_path().to_owned();
    let written = background::write(move || recording.flush());
    Ok(Writing { path, written })
}

/// A file that is being written. Dropping it changes nothing.
#[derive(Debug)]
pub struct Writing<T> {
    path: PathBuf,
    written: background::Writing<Result<T, Error>>,
}

impl<T> Writing<T> {
    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until the file has all events that were recorded before the call that returned this.
    ///
    /// # Errors
    ///
    /// If the file could not be written; the spool is kept then.
    pub fn wait(self) -> Result<T, Error> {
        let failed = || {
            Err(Error::io("cannot write the trace", &self.path, std::io::Error::other("the writer thread panicked")))
        };
        self.written.wait().unwrap_or_else(failed)
    }
}
