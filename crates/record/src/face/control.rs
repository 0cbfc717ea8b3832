//! Control of a running recording: pause, stop, categories and status.
//!
//! A recording is started by the environment or by [`Recorder::builder`](crate::Recorder::builder). Nothing here makes
//! a recording thread wait: stopping only turns recording off, and a thread of low priority writes the file.
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
//! let stopping = control::stop()?; // the engine continues
//! println!("{}", stopping.path().display());
//! stopping.wait()?; // optional: until the file is complete
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

/// Returns the status of the process's recording. Takes some microseconds, however much is recorded.
pub fn status() -> Status {
    mode();
    control::status()
}

/// Pauses the recording until [`resume`]. Open spans are still recorded when they end.
///
/// # Errors
///
/// If nothing is being recorded.
pub fn pause() -> Result<(), Error> {
    mode();
    control::set_paused(true)
}

/// Resumes the recording after [`pause`].
///
/// # Errors
///
/// If nothing is being recorded.
pub fn resume() -> Result<(), Error> {
    mode();
    control::set_paused(false)
}

/// Records these categories from now on, in this recording and in later ones. Open spans of other categories are still
/// recorded when they end.
///
/// While some categories are not recorded, a span costs one comparison more, and a span that is not recorded costs a
/// few nanoseconds.
pub fn set_categories(categories: Categories) {
    // Decides first, so that the categories of the environment do not replace these later.
    mode();
    categories::set_for_process(categories);
}

/// Returns the categories that are recorded.
pub fn categories() -> Categories {
    categories::current()
}

/// Ends the process's recording, whether the program or the environment started it, and returns at once: a thread of
/// low priority completes the file. [`finish`](crate::finish()) completes it on the calling thread, as fast as
/// possible. With rotation, the counts are those of the last part.
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
