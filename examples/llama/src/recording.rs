//! The trace of this run: all that a program has to do for one.

use crate::where_time_went::Table;
use ferrum_trace::{Recorder, Stats};
use std::env;
use std::path::{Path, PathBuf};

/// A recording that goes on, or the reason why there is none.
#[derive(Debug)]
pub struct Recording {
    path: Result<PathBuf, String>,
}

impl Recording {
    /// Records to `trace.json`, unless the environment says where to, or not to.
    pub fn begin() -> Self {
        let path = match env::var_os("FERRUM_TRACE_OUT") {
            // The first probe begins this recording; nothing is to be done for it here.
            Some(out) if ferrum_trace::is_on() => Ok(out.into()),
            Some(out) => Err(format!("FERRUM_TRACE_OUT is `{}`", out.to_string_lossy())),
            None => begin_here(),
        };
        Self { path }
    }

    /// Ends the recording and tells what is in it.
    pub fn end(self) -> String {
        match self.path.and_then(|path| Ok((path, ferrum_trace::finish().map_err(|error| error.to_string())?))) {
            Ok((path, stats)) => report(&path, &stats),
            Err(why) => format!("nothing was recorded: {why}\n"),
        }
    }
}

fn begin_here() -> Result<PathBuf, String> {
    // Dropping the recorder does not end the recording.
    let recorder = Recorder::builder().path("trace.json").start().map_err(|error| error.to_string())?;
    Ok(recorder.path())
}

fn report(path: &Path, stats: &Stats) -> String {
    let (shown, events) = (path.display(), stats.recorded);
    let lost = match stats.dropped {
        0 => String::new(),
        dropped => format!(", {dropped} lost"),
    };
    let read = std::fs::read(path).map_err(|error| error.to_string());
    match read.and_then(|bytes| Ok((bytes.len() as f64 / 1e6, Table::of(&bytes)?))) {
        Ok((megabytes, table)) => format!(
            "{table}\n{shown}: {events} events{lost}, {megabytes:.1} MB\n\
             To see it, drag it into https://ui.perfetto.dev or chrome://tracing.\n"
        ),
        // The environment may have asked for a folder, a pattern or a spool: fine, but nothing to make a table of.
        Err(why) => format!("{events} events{lost} recorded to {shown}; no table of them ({why})\n"),
    }
}
