//! One file of a rotating recording.

use crate::os::clock::{self, ClockKind};
use crate::recording::background;
use crate::recording::destination::with_ending;
use crate::stats::Stats;
use crate::util::lock::lock;
use ferrum_trace_format::spool::FILE_ENDING;
use ferrum_trace_model::settings::Rotate;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Smallest size of a part. Smaller parts would start faster than they can be written.
const BYTES_MIN: u64 = 1 << 20;
/// Shortest duration of a part.
const EVERY_MIN: Duration = Duration::from_millis(100);
/// Number of background writes at which no further part starts. A slow disk makes parts longer, not more numerous.
const WRITERS_MAX: usize = 2;

/// State that all parts of one recording share.
#[derive(Debug)]
struct Shared {
    rotate: Rotate,
    /// Path without part number, such as `trace.json`.
    base: PathBuf,
    /// The id of the first session.
    recording: u64,
    /// Start of the first session: ticks, and nanoseconds of the monotonic clock. Times in all parts count from there,
    /// so that a span that began in an earlier part keeps its begin.
    start: (u64, u64),
    /// The same on the wall clock.
    wall_nanos: u64,
    completed: Mutex<Completed>,
}

#[derive(Debug, Default)]
struct Completed {
    /// Complete files that have not been removed, by number. Two writers may complete them out of order.
    paths: BTreeMap<u32, PathBuf>,
    /// Counts of all complete files.
    stats: Stats,
}

/// One part of a rotating recording.
#[derive(Debug)]
pub(crate) struct Part {
    shared: Arc<Shared>,
    pub number: u32,
    /// Start of this part, in nanoseconds of the monotonic clock.
    begun: u64,
    /// True if the next part could not be started.
    is_last: AtomicBool,
}

/// Start of a recording, on all clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    /// Ticks, and nanoseconds of the monotonic clock.
    pub point: (u64, u64),
    pub wall_nanos: u64,
}

impl Start {
    /// Returns the present time.
    pub(crate) fn now(clock: ClockKind) -> Self {
        // Read in direct succession: recordings of the same host are aligned by these two.
        Self { point: clock.calibration_point(), wall_nanos: clock::wall_nanos() }
    }
}

impl Part {
    /// Creates the first part, of session `recording`.
    pub(crate) fn first(rotate: Rotate, base: PathBuf, number: u32, recording: u64, start: Start) -> Self {
        let Start { point, wall_nanos } = start;
        let shared = Shared { rotate, base, recording, start: point, wall_nanos, completed: Mutex::default() };
        Self::new(Arc::new(shared), number)
    }

    /// Creates the next part.
    pub(crate) fn next(&self, number: u32) -> Self {
        Self::new(Arc::clone(&self.shared), number)
    }

    fn new(shared: Arc<Shared>, number: u32) -> Self {
        Self { shared, number, begun: clock::monotonic_nanos(), is_last: AtomicBool::new(false) }
    }

    pub(crate) fn base(&self) -> &Path {
        &self.shared.base
    }

    pub(crate) fn recording(&self) -> u64 {
        self.shared.recording
    }

    pub(crate) fn start(&self) -> Start {
        Start { point: self.shared.start, wall_nanos: self.shared.wall_nanos }
    }

    /// Returns true if the next part should start, after `n_bytes` have been recorded.
    pub(crate) fn is_full(&self, n_bytes: u64) -> bool {
        let by_size = self.shared.rotate.bytes.is_some_and(|bytes| n_bytes >= bytes.max(BYTES_MIN));
        // An empty part is not worth a file.
        let by_time = n_bytes > 0 && self.time_left().is_some_and(|left| left.is_zero());
        let may_be = !self.is_last.load(Ordering::Relaxed) && background::n_active() < WRITERS_MAX;
        (by_size || by_time) && may_be
    }

    /// Returns the time until the next part is due, if parts are limited by time.
    pub(crate) fn time_left(&self) -> Option<Duration> {
        let every = self.shared.rotate.every?.max(EVERY_MIN);
        Some(every.saturating_sub(Duration::from_nanos(clock::monotonic_nanos().saturating_sub(self.begun))))
    }

    /// Returns the counts of all complete parts.
    pub(crate) fn completed(&self) -> Stats {
        lock(&self.shared.completed).stats
    }

    /// Marks this part as complete, and removes the oldest files if there are too many.
    pub(crate) fn mark_complete(&self, path: &Path, stats: Stats) {
        let mut completed = lock(&self.shared.completed);
        completed.stats += stats;
        completed.paths.insert(self.number, path.to_owned());
        let n_kept = self.shared.rotate.keep.map_or(usize::MAX, |keep| keep as usize);
        while completed.paths.len() > n_kept {
            if let Some((_, oldest)) = completed.paths.pop_first() {
                // The spool is there if it could not be read completely.
                let _ = std::fs::remove_file(with_ending(&oldest, FILE_ENDING));
                let _ = std::fs::remove_file(oldest);
            }
        }
    }

    /// Marks this part as the last one, because the next one cannot be started.
    pub(crate) fn mark_last(&self) {
        self.is_last.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_parts_are_kept_if_they_complete_out_of_order() {
        let folder = std::env::temp_dir().join(format!("ferrum-parts-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let rotate = Rotate { keep: Some(2), ..Rotate::default() };
        let start = Start { point: (0, 0), wall_nanos: 0 };
        let first = Part::first(rotate, folder.join("trace.json"), 1, 1, start);
        let complete = |part: &Part| {
            let path = folder.join(part.number.to_string());
            std::fs::write(&path, "").unwrap();
            std::fs::write(with_ending(&path, FILE_ENDING), "").unwrap();
            part.mark_complete(&path, Stats::default());
        };
        [2, 3, 4].into_iter().for_each(|number| complete(&first.next(number)));
        // Its writer was slow: three newer parts are complete.
        complete(&first);
        let kept = [1, 2, 3, 4].map(|number: u32| folder.join(number.to_string()).exists());
        assert_eq!(kept, [false, false, true, true]);
        let kept_spools = [1, 2, 3, 4].map(|number: u32| folder.join(format!("{number}.spool")).exists());
        assert_eq!(kept_spools, kept);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
