//! Dumps of one recording: numbers, limits, and the one that is pending.

use crate::error::Error;
use crate::memory::snapshot::Snapshot;
use crate::os::clock;
use crate::recording::background;
use crate::recording::definitions::kept_text;
use crate::recording::destination::with_infix;
use crate::util::lock::lock;
use ferrum_trace_model::settings::DumpLimits;
use ferrum_trace_model::vocab::about::DumpRefusal;
use ferrum_trace_model::{RefusedDumps, Trigger};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

/// The files of one recording.
#[derive(Debug)]
pub struct Dumps {
    limits: DumpLimits,
    /// The output, beside which they are.
    output: PathBuf,
    state: Mutex<State>,
    /// Held while a file is written, so that the end of the recording waits for it.
    writing: Mutex<()>,
    refused: [AtomicU64; DumpRefusal::ALL.len()],
}

#[derive(Debug)]
struct State {
    /// The number of the next file.
    next: u32,
    n_files: u32,
    /// Bytes of all files, and of the largest.
    n_bytes: u64,
    largest: u64,
    /// When the last one was asked for, in nanoseconds.
    last: Option<u64>,
    /// The one that is asked for and not written, and why.
    pending: Option<Pending>,
    /// What was copied for it by a thread that has given up.
    copy: Option<Snapshot>,
}

/// A file that is asked for and not written.
#[derive(Clone, Debug)]
struct Pending {
    number: u32,
    trigger: Trigger,
}

impl Dumps {
    /// Looks for files of earlier runs, so that none is overwritten.
    pub fn new(limits: DumpLimits, output: PathBuf, is_ring: bool) -> Self {
        let next = if is_ring { last_number(&output) + 1 } else { 1 };
        let state = State { next, n_files: 0, n_bytes: 0, largest: 0, last: None, pending: None, copy: None };
        let (state, writing) = (Mutex::new(state), Mutex::default());
        Self { limits, output, state, writing, refused: Default::default() }
    }

    /// Returns the post-roll: the time that is recorded after a trigger.
    pub fn post_roll(&self) -> Duration {
        self.limits.after
    }

    /// Returns how many were asked for and not granted, by reason.
    pub fn refused(&self) -> RefusedDumps {
        let mut refused = RefusedDumps::default();
        for (&reason, n) in DumpRefusal::ALL.iter().zip(&self.refused) {
            refused.add(reason, n.load(Ordering::Relaxed));
        }
        refused
    }

    /// How many were granted.
    pub fn n_granted(&self) -> u64 {
        lock(&self.state).n_files.into()
    }

    /// Returns the number of the file that is granted, or why none is. Never waits.
    pub fn grant(&self, reason: &str, what: Option<&str>) -> Result<u32, DumpRefusal> {
        let granted = match self.state.try_lock() {
            Ok(state) => self.grant_locked(state, reason, what),
            Err(TryLockError::Poisoned(poisoned)) => self.grant_locked(poisoned.into_inner(), reason, what),
            Err(TryLockError::WouldBlock) => Err(DumpRefusal::Busy),
        };
        if let Err(refusal) = granted {
            self.refused[refusal as usize].fetch_add(1, Ordering::Relaxed);
        }
        granted
    }

    fn grant_locked(
        &self,
        mut state: MutexGuard<'_, State>,
        reason: &str,
        what: Option<&str>,
    ) -> Result<u32, DumpRefusal> {
        let now = clock::monotonic_nanos();
        if state.n_files >= self.limits.files {
            return Err(DumpRefusal::Files);
        }
        if state.n_bytes.saturating_add(state.largest.max(1)) > self.limits.bytes {
            return Err(DumpRefusal::Bytes);
        }
        if state.pending.is_some() {
            return Err(DumpRefusal::UnderWay);
        }
        if state.last.is_some_and(|last| u128::from(now - last) < self.limits.every.as_nanos()) {
            return Err(DumpRefusal::TooSoon);
        }
        let number = state.next;
        state.next = number.saturating_add(1);
        state.n_files += 1;
        state.last = Some(now);
        let [reason, what] = [reason, what.unwrap_or_default()].map(|text| kept_text(text).into_owned());
        let trigger = Trigger { reason, what, dump: Some(number.into()) };
        state.pending = Some(Pending { number, trigger });
        Ok(number)
    }

    /// Leaves what was copied to whoever ends the recording.
    pub fn keep_copy(&self, copy: Snapshot) {
        lock(&self.state).copy = Some(copy);
    }

    /// What was left so.
    pub fn take_copy(&self) -> Option<Snapshot> {
        lock(&self.state).copy.take()
    }

    /// Writes the file that is asked for, if there is one. It stays asked for if the thread has given up.
    pub fn write_pending(&self, write: impl FnOnce(&Path, Trigger) -> Result<(), Error>) -> Result<(), Error> {
        let _writing = lock(&self.writing);
        let Some(Pending { number, trigger }) = lock(&self.state).pending.clone() else {
            return Ok(());
        };
        let path = with_infix(&self.output, &infix(number));
        let written = write(&path, trigger);
        if written.is_err() && background::is_cancelled() {
            return Ok(());
        }
        let n_bytes = path.metadata().map_or(0, |file| file.len());
        let mut state = lock(&self.state);
        state.n_bytes = state.n_bytes.saturating_add(n_bytes);
        state.largest = state.largest.max(n_bytes);
        state.pending = None;
        written
    }
}

fn infix(number: u32) -> String {
    format!("dump-{number:03}")
}

/// The files `trace.dump-001.json` and so on that are there, and their numbers.
pub fn dumps_beside(output: &Path) -> Vec<(u32, PathBuf)> {
    let around = with_infix(output, "dump-#");
    let around = around.file_name().unwrap_or_default().to_string_lossy();
    let Some((start, end)) = around.rsplit_once('#') else { return Vec::new() };
    let number = |name: &str| name.strip_prefix(start)?.strip_suffix(end)?.parse::<u32>().ok();
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let files = folder.read_dir().into_iter().flatten().flatten();
    files.filter_map(|file| Some((number(&file.file_name().to_string_lossy())?, file.path()))).collect()
}

/// The highest of those numbers, 0 if there is none.
fn last_number(output: &Path) -> u32 {
    dumps_beside(output).into_iter().map(|(number, _)| number).max().unwrap_or(0).min(u32::MAX - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(limits: DumpLimits) -> Dumps {
        Dumps::new(limits, PathBuf::from("trace.json"), false)
    }

    fn ask(dumps: &Dumps) -> Result<u32, DumpRefusal> {
        dumps.grant("test", None)
    }

    #[test]
    fn one_is_granted_at_a_time_and_so_many_in_all() {
        let dumps = granted(DumpLimits { files: 2, every: Duration::ZERO, ..DumpLimits::default() });
        assert_eq!((ask(&dumps), ask(&dumps)), (Ok(1), Err(DumpRefusal::UnderWay)));
        dumps.write_pending(|_, _| Ok(())).unwrap();
        assert_eq!((ask(&dumps), ask(&dumps)), (Ok(2), Err(DumpRefusal::Files)));
        dumps.write_pending(|_, _| Ok(())).unwrap();
        assert_eq!(ask(&dumps), Err(DumpRefusal::Files));
        assert_eq!((dumps.n_granted(), dumps.refused().total()), (2, 3));
        let expected = "1 while another dump was under way, 2 beyond the number of files allowed";
        assert_eq!(dumps.refused().to_string(), expected);
    }

    #[test]
    fn time_passes_between_two() {
        let dumps = granted(DumpLimits { every: Duration::from_secs(3600), ..DumpLimits::default() });
        assert_eq!(dumps.grant("ttft>300ms", Some("request 2 waited")), Ok(1));
        let trigger = Trigger { reason: "ttft>300ms".into(), what: "request 2 waited".into(), dump: Some(1) };
        dumps
            .write_pending(|_, of_dump| {
                assert_eq!(of_dump, trigger);
                Ok(())
            })
            .unwrap();
        assert_eq!(ask(&dumps), Err(DumpRefusal::TooSoon));
    }

    #[test]
    fn the_largest_so_far_must_still_fit() {
        let folder = std::env::temp_dir().join(format!("ferrum-dumps-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let output = folder.join("trace.json");
        let limits = DumpLimits { bytes: 2500, every: Duration::ZERO, ..DumpLimits::default() };
        let dumps = Dumps::new(limits, output.clone(), true);
        for number in 1..=2 {
            assert_eq!(ask(&dumps), Ok(number));
            let written = dumps
                .write_pending(|path, _| std::fs::write(path, [0; 1000]).map_err(|cause| Error::io("", path, cause)));
            written.unwrap();
        }
        assert_eq!(ask(&dumps), Err(DumpRefusal::Bytes), "a third one does not fit");
        assert_eq!((dumps.n_granted(), dumps.refused().total()), (2, 1));
        // Another run goes on after the last one, though some are gone.
        std::fs::rename(folder.join("trace.dump-002.json"), folder.join("trace.dump-041.json")).unwrap();
        std::fs::write(folder.join("other.dump-099.json"), "").unwrap();
        assert_eq!(ask(&Dumps::new(limits, output, true)), Ok(42));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn no_bytes_no_files() {
        assert_eq!(ask(&granted(DumpLimits { bytes: 0, ..DumpLimits::default() })), Err(DumpRefusal::Bytes));
    }
}
