//! Pausing, stopping and asking while the program runs.
//!
//! A recording is begun by the environment or by [`Recorder::builder`](crate::Recorder::builder). Nothing here makes a thread that
//! records wait: stopping only turns recording off, and the file is written by a thread of low priority.
//!
//! ```
//! # fn main() -> Result<(), ferrum_trace::Error> {
//! # let folder = std::env::temp_dir().join(format!("ferrum-control-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder).unwrap();
//! use ferrum_trace::control::{self, State};
//!
//! ferrum_trace::Recorder::builder().path(folder.join("trace.json")).start()?;
//! control::pause()?;
//! assert_eq!(control::status().state, State::Paused);
//! control::resume()?;
//! control::set_categories("-memory".parse().unwrap());
//! let stopping = control::stop()?; // the engine goes on
//! println!("{}", stopping.path().display());
//! stopping.wait()?; // whoever wants to know when the file is complete
//! # std::fs::remove_dir_all(folder).unwrap();
//! # Ok(())
//! # }
//! ```

use crate::error::Error;
use crate::process::categories;
use crate::process::global;
use crate::process::switch::{self, OFF, Rest};
use crate::recording::background;
use crate::recording::session::Session;
use crate::stats::Stats;
use crate::watch::window;
use ferrum_trace_model::RefusedDumps;
use ferrum_trace_model::settings::Categories;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a process's recording is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// There is none.
    Off,
    /// It records.
    Recording,
    /// It is there, and rests until [`resume`].
    Paused,
    /// It is there, and its [`Window`](crate::Window) is not open.
    OutsideWindow,
}

impl State {
    /// One word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Recording => "recording",
            Self::Paused => "paused",
            Self::OutsideWindow => "outside window",
        }
    }
}

/// How a process's recording stands. Made by [`status`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Status {
    /// What it is doing.
    pub state: State,
    /// Where its output goes, if there is one.
    pub path: Option<PathBuf>,
    /// Bytes of its spool so far.
    pub spool_bytes: u64,
    /// Why no more fits, if so.
    pub full: Option<&'static str>,
    /// Steps that its window has counted, if it counts them.
    pub steps: Option<u64>,
    /// How many files are being written in the background, those of earlier recordings included.
    pub writing: usize,
    /// Which categories are recorded.
    pub categories: Categories,
    /// Dumps that were granted, to [`dump`](crate::dump()) or a [`Trigger`](crate::Trigger).
    pub dumps: u64,
    /// Dumps that were asked for and not granted, by reason.
    pub dumps_refused: RefusedDumps,
}

/// How the process's recording stands. Takes some microseconds, however much is recorded.
pub fn status() -> Status {
    let session = running().ok();
    Status {
        state: session.as_ref().map_or(State::Off, |_| state()),
        path: session.as_ref().map(|session| session.output_path().to_owned()),
        spool_bytes: session.as_ref().map_or(0, |session| session.spool().n_bytes()),
        full: session.as_ref().and_then(|session| session.why_full()),
        dumps: session.as_ref().map_or(0, |session| session.dumps().n_granted()),
        dumps_refused: session.as_ref().map_or_else(RefusedDumps::default, |session| session.dumps().refused()),
        steps: session.and_then(|_| window::n_steps()),
        writing: background::n_at_work(),
        categories: categories::current(),
    }
}

fn state() -> State {
    if switch::rests(Rest::Paused) {
        State::Paused
    } else if switch::is_outside_window() {
        State::OutsideWindow
    } else {
        State::Recording
    }
}

/// Records nothing until [`resume`]. Spans that are open are still recorded when they end.
///
/// # Errors
///
/// If nothing is being recorded.
pub fn pause() -> Result<(), Error> {
    set_paused(true)
}

/// Goes on after [`pause`].
///
/// # Errors
///
/// If nothing is being recorded.
pub fn resume() -> Result<(), Error> {
    set_paused(false)
}

/// The process's recording, begun if the environment asks for one.
fn running() -> Result<Arc<Session>, Error> {
    let session = if crate::COMPILED_OUT || global::clock() == OFF { None } else { global::running() };
    session.ok_or_else(Error::not_recording)
}

fn set_paused(is_paused: bool) -> Result<(), Error> {
    running()?;
    switch::set_rest(Rest::Paused, is_paused);
    Ok(())
}

/// Records these categories from now on, in this recording and in later ones. Spans of others that are open are still recorded.
///
/// While some are left out, a span costs a comparison more, and one that is left out a few nanoseconds.
pub fn set_categories(categories: Categories) {
    // First, so that those of the environment do not come later and take their place.
    global::mode();
    categories::set_for_process(categories);
}

/// Which categories are recorded.
pub fn categories() -> Categories {
    categories::current()
}

/// Ends the process's recording, whoever began it, and returns at once: the file is completed by a thread of low priority.
/// [`finish`](crate::finish()) does the same as fast as possible, on the calling thread. Of a recording in several files, the counts are
/// those of the last.
///
/// # Errors
///
/// If nothing is being recorded.
pub fn stop() -> Result<Writing<Stats>, Error> {
    let session = global::take_active(running()?.recording()).ok_or_else(Error::not_recording)?;
    let path = session.output_path().to_owned();
    let written = background::write(move || {
        let result = session.complete();
        if result.is_ok() || !background::leave(&session) {
            session.release_memory();
        }
        result
    });
    Ok(Writing { path, written })
}

/// Brings the output up to date, on a thread of low priority.
///
/// # Errors
///
/// If nothing is being recorded.
pub fn flush() -> Result<Writing<()>, Error> {
    let session = running()?;
    let path = session.output_path().to_owned();
    let written = background::write(move || session.flush());
    Ok(Writing { path, written })
}

/// A file that is being written. Dropping it changes nothing.
#[derive(Debug)]
pub struct Writing<T> {
    path: PathBuf,
    written: background::Writing<Result<T, Error>>,
}

impl<T> Writing<T> {
    /// Where the file is, or will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until it has all that was recorded before the call that made this.
    ///
    /// # Errors
    ///
    /// If it could not be written; the spool is kept then.
    pub fn wait(self) -> Result<T, Error> {
        let failed =
            || Err(Error::io("cannot write the trace", &self.path, std::io::Error::other("the writer has failed")));
        self.written.wait().unwrap_or_else(failed)
    }
}
