//! Dumps of one recording: file numbers, limits, and the pending dump.
//!
//! At most one dump is pending at a time: from [`grant`](Dumps::grant) until it has been written. See `watch/dump.rs`
//! for the whole sequence.

use crate::error::Error;
use crate::memory::snapshot::Snapshot;
use crate::os::clock;
use crate::os::private_file;
use crate::recording::background;
use crate::recording::definitions::kept_text;
use crate::recording::destination::{COPY, NEXT, with_infix};
use crate::util::lock::lock;
use ferrum_trace_model::settings::DumpLimits;
use ferrum_trace_model::vocab::about::DumpRefusal;
use ferrum_trace_model::{RefusedDumps, Trigger};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::Duration;

/// State of the dumps of one recording.
#[derive(Debug)]
pub(crate) struct Dumps {
    limits: DumpLimits,
    /// Path of the output. Dumps are written to the same folder.
    output: PathBuf,
    state: Mutex<State>,
    /// Held while a dump is written, so that the end of the recording waits for it.
    writing: Mutex<()>,
    /// Number of refused dumps, by reason.
    refused: [AtomicU64; DumpRefusal::ALL.len()],
}

#[derive(Debug)]
struct State {
    /// Number of the next dump.
    next: u32,
    n_files: u32,
    /// Total size of the dumps.
    n_bytes: u64,
    /// Size of the largest dump.
    largest: u64,
    /// Time when the last dump was granted, in nanoseconds.
    last: Option<u64>,
    /// The dump that is granted and not yet written.
    pending: Option<Pending>,
    /// Copy of the ring made for it by a thread that was cancelled.
    copy: Option<Arc<Snapshot>>,
}

/// A dump that is granted and not yet written.
#[derive(Clone, Debug)]
struct Pending {
    number: u32,
    trigger: Trigger,
}

impl Dumps {
    /// Creates the state. The numbers of a ring continue after existing dumps, so that none is overwritten.
    pub(crate) fn new(limits: DumpLimits, output: PathBuf, is_ring: bool) -> Self {
        let next = if is_ring {
            remove_leftovers(&output);
            last_number(&output) + 1
        } else {
            1
        };
        let state = State { next, n_files: 0, n_bytes: 0, largest: 0, last: None, pending: None, copy: None };
        let (state, writing) = (Mutex::new(state), Mutex::default());
        Self { limits, output, state, writing, refused: Default::default() }
    }

    /// Returns the post-roll: the time that is recorded after a trigger.
    pub(crate) fn post_roll(&self) -> Duration {
        self.limits.after
    }

    /// Returns the number of refused dumps, by reason.
    pub(crate) fn refused(&self) -> RefusedDumps {
        let mut refused = RefusedDumps::default();
        for (&reason, n) in DumpRefusal::ALL.iter().zip(&self.refused) {
            refused.add(reason, n.load(Ordering::Relaxed));
        }
        refused
    }

    /// Returns the number of granted dumps.
    pub(crate) fn n_granted(&self) -> u64 {
        lock(&self.state).n_files.into()
    }

    /// Grants a dump and returns its number, or the reason for a refusal. Never waits.
    pub(crate) fn grant(&self, reason: &str, what: Option<&str>) -> Result<u32, DumpRefusal> {
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

    /// Keeps the copy of a cancelled dump for the thread that ends the recording.
    pub(crate) fn keep_copy(&self, copy: Arc<Snapshot>) {
        lock(&self.state).copy = Some(copy);
    }

    /// Takes the copy of a cancelled dump, if any.
    pub(crate) fn take_copy(&self) -> Option<Arc<Snapshot>> {
        lock(&self.state).copy.take()
    }

    /// Writes the pending dump, if any. It stays pending if the calling thread is cancelled.
    pub(crate) fn write_pending(&self, write: impl FnOnce(&Path, Trigger) -> Result<(), Error>) -> Result<(), Error> {
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

/// Returns the existing files `trace.dump-001.json` and so on, with their numbers.
pub(crate) fn dumps_beside(output: &Path) -> Vec<(u32, PathBuf)> {
    dump_files_beside(output, "")
}

/// Removes dumps that killed processes have not completed. The caller has claimed the output, so that no other process
/// writes dumps of these names.
fn remove_leftovers(output: &Path) {
    let leftovers = [NEXT, COPY].into_iter().flat_map(|suffix| dump_files_beside(output, suffix));
    leftovers.for_each(|(_, path)| drop(private_file::remove(&path)));
}

/// Returns the existing files `trace.dump-001.json` with this suffix, with their numbers.
fn dump_files_beside(output: &Path, suffix: &str) -> Vec<(u32, PathBuf)> {
    let around = with_infix(output, "dump-#");
    let around = around.file_name().unwrap_or_default().to_string_lossy();
    let Some((start, end)) = around.rsplit_once('#') else { return Vec::new() };
    let number = |name: &str| name.strip_suffix(suffix)?.strip_prefix(start)?.strip_suffix(end)?.parse::<u32>().ok();
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let files = folder.read_dir().into_iter().flatten().flatten();
    files.filter_map(|file| Some((number(&file.file_name().to_string_lossy())?, file.path()))).collect()
}

/// Returns the highest number of an existing dump, 0 if there is none.
fn last_number(output: &Path) -> u32 {
    dumps_beside(output).into_iter().map(|(number, _)| number).max().unwrap_or(0).min(u32::MAX - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dumps(limits: DumpLimits) -> Dumps {
        Dumps::new(limits, PathBuf::from("trace.json"), false)
    }

    fn grant(dumps: &Dumps) -> Result<u32, DumpRefusal> {
        dumps.grant("test", None)
    }

    #[test]
    fn one_dump_is_granted_at_a_time_up_to_the_limit_of_files() {
        let dumps = dumps(DumpLimits { files: 2, every: Duration::ZERO, ..DumpLimits::default() });
        assert_eq!((grant(&dumps), grant(&dumps)), (Ok(1), Err(DumpRefusal::UnderWay)));
        dumps.write_pending(|_, _| Ok(())).unwrap();
        assert_eq!((grant(&dumps), grant(&dumps)), (Ok(2), Err(DumpRefusal::Files)));
        dumps.write_pending(|_, _| Ok(())).unwrap();
        assert_eq!(grant(&dumps), Err(DumpRefusal::Files));
        assert_eq!((dumps.n_granted(), dumps.refused().total()), (2, 3));
        let expected = "1 while another dump was under way, 2 beyond the number of files allowed";
        assert_eq!(dumps.refused().to_string(), expected);
    }

    #[test]
    fn a_dump_too_soon_after_another_is_refused() {
        let dumps = dumps(DumpLimits { every: Duration::from_secs(3600), ..DumpLimits::default() });
        assert_eq!(dumps.grant("ttft>300ms", Some("request 2 waited")), Ok(1));
        let trigger = Trigger { reason: "ttft>300ms".into(), what: "request 2 waited".into(), dump: Some(1) };
        dumps
            .write_pending(|_, of_dump| {
                assert_eq!(of_dump, trigger);
                Ok(())
            })
            .unwrap();
        assert_eq!(grant(&dumps), Err(DumpRefusal::TooSoon));
    }

    #[test]
    fn a_dump_is_refused_if_the_largest_so_far_would_not_fit() {
        let folder = std::env::temp_dir().join(format!("ferrum-dumps-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let output = folder.join("trace.json");
        let limits = DumpLimits { bytes: 2500, every: Duration::ZERO, ..DumpLimits::default() };
        let dumps = Dumps::new(limits, output.clone(), true);
        for number in 1..=2 {
            assert_eq!(grant(&dumps), Ok(number));
            let written = dumps
                .write_pending(|path, _| std::fs::write(path, [0; 1000]).map_err(|cause| Error::io("", path, cause)));
            written.unwrap();
        }
        assert_eq!(grant(&dumps), Err(DumpRefusal::Bytes), "a third one does not fit");
        assert_eq!((dumps.n_granted(), dumps.refused().total()), (2, 1));
        // The next run continues after the highest number, though there are gaps.
        std::fs::rename(folder.join("trace.dump-002.json"), folder.join("trace.dump-041.json")).unwrap();
        std::fs::write(folder.join("other.dump-099.json"), "").unwrap();
        assert_eq!(grant(&Dumps::new(limits, output, true)), Ok(42));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_limit_of_zero_bytes_refuses_every_dump() {
        assert_eq!(grant(&dumps(DumpLimits { bytes: 0, ..DumpLimits::default() })), Err(DumpRefusal::Bytes));
    }
}
