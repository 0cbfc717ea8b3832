//! One file of a rotating recording.

use crate::os::clock::{self, ClockKind};
use crate::recording::background;
use crate::stats::Stats;
use crate::util::lock::lock;
use ferrum_trace_model::settings::Rotate;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The least that a file has: below that, files would be begun faster than they can be written.
const BYTES_MIN: u64 = 1 << 20;
const EVERY_MIN: Duration = Duration::from_millis(100);
/// How many files may be in the making while the next one is begun. A disk that cannot keep up makes files longer, not more of them.
const WRITERS_MAX: usize = 2;
/// What the files of one recording have in common.
#[derive(Debug)]
struct Shared {
    rotate: Rotate,
    /// `trace.json`, after which they are named.
    base: PathBuf,
    /// The id of the first session.
    recording: u64,
    /// When that began: ticks and nanoseconds, and those of the wall clock. All files count from there, so that a span that began in
    /// the file before is where it was.
    start: (u64, u64),
    wall_nanos: u64,
    completed: Mutex<Completed>,
}

#[derive(Debug, Default)]
struct Completed {
    /// Complete files that are still there, oldest first.
    paths: VecDeque<PathBuf>,
    /// Counts of all complete files.
    stats: Stats,
}

/// One file of a recording that goes on in others.
#[derive(Debug)]
pub struct Part {
    shared: Arc<Shared>,
    pub number: u32,
    /// Nanoseconds.
    begun: u64,
    /// Set when there is no way to begin the next one.
    is_last: AtomicBool,
}

/// When a recording began, on all clocks.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Ticks, and nanoseconds of the monotonic clock.
    pub point: (u64, u64),
    pub wall_nanos: u64,
}

impl Start {
    /// Now.
    pub fn now(clock: ClockKind) -> Self {
        // Right beside each other: other recordings of the host are aligned by the two.
        Self { point: clock.calibration_point(), wall_nanos: clock::wall_nanos() }
    }
}

impl Part {
    /// The first one, of session `recording`.
    pub fn first(rotate: Rotate, base: PathBuf, number: u32, recording: u64, start: Start) -> Self {
        let Start { point, wall_nanos } = start;
        let shared = Shared { rotate, base, recording, start: point, wall_nanos, completed: Mutex::default() };
        Self::new(Arc::new(shared), number)
    }

    /// The one after this.
    pub fn next(&self, number: u32) -> Self {
        Self::new(Arc::clone(&self.shared), number)
    }

    fn new(shared: Arc<Shared>, number: u32) -> Self {
        Self { shared, number, begun: clock::monotonic_nanos(), is_last: AtomicBool::new(false) }
    }

    pub fn base(&self) -> &Path {
        &self.shared.base
    }

    pub fn recording(&self) -> u64 {
        self.shared.recording
    }

    pub fn start(&self) -> Start {
        Start { point: self.shared.start, wall_nanos: self.shared.wall_nanos }
    }

    /// Whether it has all that it should, `n_bytes` having been recorded.
    pub fn is_full(&self, n_bytes: u64) -> bool {
        let by_size = self.shared.rotate.bytes.is_some_and(|bytes| n_bytes >= bytes.max(BYTES_MIN));
        // What is empty is not worth a file.
        let by_time = n_bytes > 0 && self.time_left().is_some_and(|left| left.is_zero());
        let may_be = !self.is_last.load(Ordering::Relaxed) && background::n_active() < WRITERS_MAX;
        (by_size || by_time) && may_be
    }

    /// How long it goes on at most, if that is limited.
    pub fn time_left(&self) -> Option<Duration> {
        let every = self.shared.rotate.every?.max(EVERY_MIN);
        Some(every.saturating_sub(Duration::from_nanos(clock::monotonic_nanos().saturating_sub(self.begun))))
    }

    /// Counts of all files that are complete.
    pub fn completed(&self) -> Stats {
        lock(&self.shared.completed).stats
    }

    /// This one is complete; removes the oldest if there are too many.
    pub fn mark_complete(&self, path: &Path, stats: Stats) {
        let mut completed = lock(&self.shared.completed);
        completed.stats += stats;
        completed.paths.push_back(path.to_owned());
        let n_kept = self.shared.rotate.keep.map_or(usize::MAX, |keep| keep as usize);
        while completed.paths.len() > n_kept {
            if let Some(oldest) = completed.paths.pop_front() {
                let _ = std::fs::remove_file(oldest);
            }
        }
    }

    /// The next one cannot be begun, and this one goes on.
    pub fn mark_last(&self) {
        self.is_last.store(true, Ordering::Relaxed);
    }
}
