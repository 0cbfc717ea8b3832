//! The recording of this run: everything that a program has to do for it.

use crate::report;
use anyhow::Result;
use ferrum_trace::{Recorder, Stats};
use std::env;
use std::path::{Path, PathBuf};

/// A running recording, or the reason why there is none.
#[derive(Debug)]
pub struct Recording {
    path: Result<PathBuf, String>,
}

impl Recording {
    /// Records to `trace.json`, unless the environment sets another path or switches recording off, or `is_off`.
    pub fn begin(is_off: bool) -> Result<Self> {
        let path = match env::var_os("FERRUM_TRACE_OUT") {
            // The first probe starts this recording.
            Some(out) if ferrum_trace::is_on() => Ok(out.into()),
            Some(out) => Err(format!("FERRUM_TRACE_OUT is `{}`", out.to_string_lossy())),
            None if is_off => Err("--off".to_owned()),
            // Dropping the recorder does not end the recording.
            None => Ok(Recorder::builder().path("trace.json").start()?.path()),
        };
        Ok(Self { path })
    }

    /// Ends the recording and describes its content.
    pub fn end(self) -> Result<String> {
        match self.path {
            Ok(path) => Ok(summary(&path, &ferrum_trace::finish()?)),
            Err(why) => Ok(format!("nothing was recorded: {why}\n")),
        }
    }
}

fn summary(path: &Path, stats: &Stats) -> String {
    let (shown, events) = (path.display(), stats.recorded);
    let lost = match stats.dropped {
        0 => String::new(),
        dropped => format!(", {dropped} lost"),
    };
    match report::of_trace(path) {
        Ok(tables) => format!(
            "{tables}{shown}: {events} events{lost}\n\
             to see it, drag it into https://ui.perfetto.dev or chrome://tracing\n\
             to ask it, `cargo run --release -p ferrum-trace-cli -- {shown}`\n"
        ),
        // The environment may have set a folder, a pattern or a spool, which this program cannot read.
        Err(why) => format!("{events} events{lost} recorded to {shown}; no tables of them ({why:#})\n"),
    }
}
