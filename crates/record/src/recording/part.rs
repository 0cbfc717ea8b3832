//! One file of a rotating recording.

use crate::os::clock::{self, ClockKind};
use crate::recording::background::{self, Urgency};
use crate::recording::destination::with_ending;
use crate::stats::Stats;
use crate::util::lock::lock;
use ferrum_trace_format::spool::FILE_ENDING;
use ferrum_trace_model::settings::Rotate;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Smallest size of a part. Smaller parts would start faster than they can be written.
const BYTES_MIN: u64 = 1 << 20;
/// Shortest duration of a part.
const EVERY_MIN: Duration = Duration::from_millis(100);
/// Number of background writes at which no further part starts. A slow disk makes parts longer, not more numerous.
const WRITERS_MAX: usize = 2;
/// Number of parts with an unwritten output at which no further part starts. Each keeps a file open.
const UNWRITTEN_MAX: usize = 16;
/// Pause before the next part is tried again, if it could not be started.
const NEXT_RETRY: Duration = Duration::from_secs(1);
/// First and longest pause before outputs that failed are written again. Each attempt may fill the disk for a moment.
const WRITE_RETRY: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(8)];

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
    files: Mutex<Files>,
    /// Number of parts whose output could not be written. Recording threads read it without the lock of `files`.
    n_unwritten: AtomicUsize,
}

/// The files of parts that have ended.
#[derive(Debug, Default)]
struct Files {
    /// Files that have not been removed, by number: outputs, and spools of parts whose output could not be written. Two
    /// writers may complete them out of order.
    paths: BTreeMap<u32, PathBuf>,
    /// Counts of all parts that are complete or have been removed.
    stats: Stats,
    /// Parts whose output could not be written.
    unwritten: BTreeMap<u32, Unwritten>,
    /// Time of the next attempt to write them, in nanoseconds of the monotonic clock, and the pause before it.
    retry: Option<(u64, Duration)>,
    /// Reason why events of earlier parts were lost.
    why_lost: Option<&'static str>,
    /// Reason why the next part could not be started, until it has been.
    why_not_next: Option<String>,
}

#[derive(Debug)]
struct Unwritten {
    stats: Stats,
    /// The error of the last attempt.
    why: String,
}

/// One part of a rotating recording.
#[derive(Debug)]
pub(crate) struct Part {
    shared: Arc<Shared>,
    pub number: u32,
    /// Start of this part, in nanoseconds of the monotonic clock.
    begun: u64,
    /// Time before which the next part is not tried again, in nanoseconds of the monotonic clock.
    not_before: AtomicU64,
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
        let shared = Shared {
            rotate,
            base,
            recording,
            start: point,
            wall_nanos,
            files: Mutex::default(),
            n_unwritten: AtomicUsize::new(0),
        };
        Self::new(Arc::new(shared), number)
    }

    /// Creates the next part.
    pub(crate) fn next(&self, number: u32) -> Self {
        Self::new(Arc::clone(&self.shared), number)
    }

    fn new(shared: Arc<Shared>, number: u32) -> Self {
        Self { shared, number, begun: clock::monotonic_nanos(), not_before: AtomicU64::new(0) }
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
        let is_time = || is_past(self.not_before.load(Ordering::Relaxed));
        let may_be = || background::n_active() < WRITERS_MAX && self.n_unwritten() < UNWRITTEN_MAX && is_time();
        self.is_due(n_bytes) && may_be()
    }

    /// Returns true if this part has reached its size or time, so that the next one should start as soon as it can.
    fn is_due(&self, n_bytes: u64) -> bool {
        let by_size = self.shared.rotate.bytes.is_some_and(|bytes| n_bytes >= bytes.max(BYTES_MIN));
        // An empty part is not worth a file.
        by_size || n_bytes > 0 && self.time_to_next().is_some_and(|left| left.is_zero())
    }

    /// Returns the urgency of `n_writes` background writes, after `n_bytes` of `limit` have been recorded in this part.
    /// It rises while this part waits for them, before it has to lose events.
    pub(crate) fn urgency(&self, n_writes: usize, n_bytes: u64, limit: u64) -> Urgency {
        if !self.is_due(n_bytes) || n_writes < WRITERS_MAX {
            Urgency::Low
        } else if n_bytes < limit / 2 {
            Urgency::Raised
        } else {
            Urgency::Full
        }
    }

    /// Returns the time until the next part is due, if parts are limited by time.
    pub(crate) fn time_to_next(&self) -> Option<Duration> {
        let every = self.shared.rotate.every?.max(EVERY_MIN);
        Some(every.saturating_sub(Duration::from_nanos(clock::monotonic_nanos().saturating_sub(self.begun))))
    }

    /// Returns the time until the next part is due, or until outputs that failed should be written again.
    pub(crate) fn time_left(&self) -> Option<Duration> {
        let retry = lock(&self.shared.files).retry.map(|(at, _)| at.saturating_sub(clock::monotonic_nanos()));
        self.time_to_next().into_iter().chain(retry.map(Duration::from_nanos)).min()
    }

    /// Returns true if outputs that failed should be written again.
    pub(crate) fn is_retry_due(&self) -> bool {
        lock(&self.shared.files).retry.is_some_and(|(at, _)| is_past(at))
    }

    /// Returns the counts of all parts that have ended.
    pub(crate) fn completed(&self) -> Stats {
        let files = lock(&self.shared.files);
        files.unwritten.values().fold(files.stats, |stats, part| stats + part.stats)
    }

    /// Marks this part as complete, and removes the oldest files if there are too many.
    pub(crate) fn mark_complete(&self, path: &Path, stats: Stats) {
        let mut files = lock(&self.shared.files);
        files.stats += stats;
        if files.unwritten.remove(&self.number).is_some() {
            // There is room again, so the others are written at once.
            files.retry = (!files.unwritten.is_empty()).then_some((0, WRITE_RETRY[0]));
        }
        self.add_file(&mut files, path);
    }

    /// Marks this part as one whose output could not be written, and removes the oldest files if there are too many.
    /// Its spool is kept in place of its output.
    pub(crate) fn mark_unwritten(&self, spool: &Path, stats: Stats, why: String) {
        let mut files = lock(&self.shared.files);
        files.unwritten.insert(self.number, Unwritten { stats, why });
        let pause = files.retry.map_or(WRITE_RETRY[0], |(_, pause)| (2 * pause).min(WRITE_RETRY[1]));
        files.retry = Some((clock::monotonic_nanos() + pause.as_nanos() as u64, pause));
        self.add_file(&mut files, spool);
    }

    fn add_file(&self, files: &mut Files, path: &Path) {
        files.paths.insert(self.number, path.to_owned());
        let n_kept = self.shared.rotate.keep.map_or(usize::MAX, |keep| keep as usize);
        while files.paths.len() > n_kept {
            if let Some((number, oldest)) = files.paths.pop_first() {
                // The spool is there if it could not be read completely.
                let _ = std::fs::remove_file(with_ending(&oldest, FILE_ENDING));
                let _ = std::fs::remove_file(oldest);
                let unwritten = files.unwritten.remove(&number);
                files.stats += unwritten.map_or_else(Stats::default, |part| part.stats);
            }
        }
        if files.unwritten.is_empty() {
            files.retry = None;
        }
        self.shared.n_unwritten.store(files.unwritten.len(), Ordering::Relaxed);
    }

    /// Returns true if the output of this part could not be written, and its spool has not been removed.
    pub(crate) fn is_unwritten(&self) -> bool {
        lock(&self.shared.files).unwritten.contains_key(&self.number)
    }

    /// Returns the number of parts whose output could not be written.
    pub(crate) fn n_unwritten(&self) -> usize {
        self.shared.n_unwritten.load(Ordering::Relaxed)
    }

    /// Returns the last error of a part that could not be started or written, until it has been.
    pub(crate) fn error(&self) -> Option<String> {
        let files = lock(&self.shared.files);
        files.unwritten.values().next_back().map(|part| &part.why).or(files.why_not_next.as_ref()).cloned()
    }

    /// Notes the reason why events of this part were lost.
    pub(crate) fn note_loss(&self, why: Option<&'static str>) {
        let mut files = lock(&self.shared.files);
        files.why_lost = files.why_lost.or(why);
    }

    /// Returns the reason why events of parts that have ended were lost.
    pub(crate) fn why_lost(&self) -> Option<&'static str> {
        lock(&self.shared.files).why_lost
    }

    /// Notes that the next part has been started, or why not. Then this part is continued, and the next one is tried
    /// again after a pause.
    pub(crate) fn note_next(&self, started: Result<(), String>) {
        if started.is_err() {
            let pause = NEXT_RETRY.as_nanos() as u64;
            self.not_before.store(clock::monotonic_nanos() + pause, Ordering::Relaxed);
        }
        lock(&self.shared.files).why_not_next = started.err();
    }
}

/// Returns true if a time of the monotonic clock has passed.
fn is_past(nanos: u64) -> bool {
    clock::monotonic_nanos() >= nanos
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

    #[test]
    fn a_part_whose_output_failed_counts_for_the_parts_that_are_kept() {
        let folder = std::env::temp_dir().join(format!("ferrum-unwritten-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let rotate = Rotate { keep: Some(2), ..Rotate::default() };
        let start = Start { point: (0, 0), wall_nanos: 0 };
        let first = Part::first(rotate, folder.join("trace.json"), 1, 1, start);
        let stats = Stats { recorded: 10, dropped: 1, ..Stats::default() };
        let spools = [1, 2, 3].map(|number: u32| folder.join(format!("{number}.spool")));
        let parts = [1, 2, 3].map(|number| first.next(number));
        for (part, spool) in parts.iter().zip(&spools) {
            std::fs::write(spool, "").unwrap();
            part.mark_unwritten(spool, stats, format!("error {}", part.number));
        }
        assert_eq!(spools.each_ref().map(|spool| spool.exists()), [false, true, true]);
        assert_eq!(parts.each_ref().map(Part::is_unwritten), [false, true, true]);
        assert_eq!((first.n_unwritten(), first.error().as_deref()), (2, Some("error 3")));
        // The events of the removed part count too.
        assert_eq!((first.completed().recorded, first.completed().dropped), (30, 3));
        assert!(!first.is_retry_due() && first.time_left().is_some());
        parts[1].mark_complete(&folder.join("2"), stats);
        assert!(first.is_retry_due(), "there is room again");
        parts[2].mark_complete(&folder.join("3"), stats);
        assert_eq!((first.n_unwritten(), first.error(), first.time_left()), (0, None, None));
        assert_eq!(first.completed().recorded, 30);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn writing_becomes_urgent_while_a_full_part_waits_for_two_others() {
        let rotate = Rotate { bytes: Some(4 << 20), ..Rotate::default() };
        let part = Part::first(rotate, "trace.json".into(), 1, 1, Start { point: (0, 0), wall_nanos: 0 });
        let urgency = |n_writes, n_mebibytes: u64| part.urgency(n_writes, n_mebibytes << 20, 32 << 20);
        assert_eq!(urgency(1, 20), Urgency::Low);
        let of_two = [3, 4, 15, 16].map(|n_mebibytes| urgency(2, n_mebibytes));
        assert_eq!(of_two, [Urgency::Low, Urgency::Raised, Urgency::Raised, Urgency::Full]);
    }
}
