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

pub use crate::lifecycle::control::{State, Status, Writing};

use crate::error::Error;
use crate::lifecycle::control;
use crate::probe::mode::mode;
use crate::process::categories;
use crate::stats::Stats;
use ferrum_trace_model::settings::Categories;

/// How the process's recording stands. Takes some microseconds, however much is recorded.
pub fn status() -> Status {
    mode();
    control::status()
}

/// Records nothing until [`resume`]. Spans that are open are still recorded when they end.
///
/// # Errors
///
/// If nothing is being recorded.
pub fn pause() -> Result<(), Error> {
    mode();
    control::set_paused(true)
}

/// Goes on after [`pause`].
///
/// # Errors
///
/// If nothing is being recorded.
pub fn resume() -> Result<(), Error> {
    mode();
    control::set_paused(false)
}

/// Records these categories from now on, in this recording and in later ones. Spans of others that are open are still recorded.
///
/// While some are left out, a span costs a comparison more, and one that is left out a few nanoseconds.
pub fn set_categories(categories: Categories) {
    // Decides first, so that the categories of the environment do not replace these later.
    mode();
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
    mode();
    control::stop()
}

/// Brings the output up to date, on a thread of low priority.
///
/// # Errors
///
/// If nothing is being recorded.
pub fn flush() -> Result<Writing<()>, Error> {
    mode();
    control::flush()
}
