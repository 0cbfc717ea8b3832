//! Files that a flight recorder writes while it goes on: what was recorded up to something that happened, and a little after.

use crate::arg::Value;
use crate::clock;
use crate::destination::with_infix;
use crate::error::Error;
use crate::event;
use crate::global;
use crate::session::Session;
use crate::site::Site;
use crate::spool::{lock, without_signals};
use crate::switch::OFF;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError, Weak};
use std::thread;
use std::time::Duration;

/// The event that says why a file was written, on the thread that asked for it.
static TRIGGER: Site = Site::new("trigger", "trigger", &["reason", "dump"]);

/// How many files a flight recorder may write, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DumpLimits {
    /// How many files at most. What is asked for beyond that is counted. 10 if not given.
    pub files: u32,
    /// How much time there is at least between two files. 10 s if not given.
    pub every: Duration,
    /// How long recording goes on before the file is written, so that it also tells what came after. 1 s if not given.
    pub after: Duration,
}

impl Default for DumpLimits {
    fn default() -> Self {
        Self { files: 10, every: Duration::from_secs(10), after: Duration::from_secs(1) }
    }
}

/// The files of one recording.
#[derive(Debug)]
pub struct Dumps {
    limits: DumpLimits,
    /// The output, beside which they are.
    output: PathBuf,
    state: Mutex<State>,
    /// Held while a file is written, so that the end of the recording waits for it.
    writing: Mutex<()>,
    n_refused: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    n_files: u32,
    /// When the last one was asked for, in nanoseconds.
    last: Option<u64>,
    /// Where the next one goes, which is asked for and not written.
    pending: Option<PathBuf>,
}

impl Dumps {
    pub fn new(limits: DumpLimits, output: PathBuf) -> Self {
        Self { limits, output, state: Mutex::default(), writing: Mutex::default(), n_refused: AtomicU64::new(0) }
    }

    /// How many were asked for and not granted.
    pub fn n_refused(&self) -> u64 {
        self.n_refused.load(Ordering::Relaxed)
    }

    /// The number of the file that is granted. Never waits.
    fn grant(&self) -> Option<u32> {
        let granted = match self.state.try_lock() {
            Ok(state) => self.grant_locked(state),
            Err(TryLockError::Poisoned(poisoned)) => self.grant_locked(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        if granted.is_none() {
            self.n_refused.fetch_add(1, Ordering::Relaxed);
        }
        granted
    }

    fn grant_locked(&self, mut state: MutexGuard<'_, State>) -> Option<u32> {
        let now = clock::monotonic_nanos();
        let is_soon = state.last.is_some_and(|last| u128::from(now - last) < self.limits.every.as_nanos());
        if state.pending.is_some() || is_soon || state.n_files >= self.limits.files {
            return None;
        }
        state.n_files += 1;
        state.last = Some(now);
        state.pending = Some(free_path(&self.output, state.n_files));
        Some(state.n_files)
    }

    /// Writes the file that is asked for, if there is one.
    pub fn write_pending(&self, write: impl FnOnce(&Path) -> Result<(), Error>) -> Result<(), Error> {
        let _writing = lock(&self.writing);
        let Some(path) = lock(&self.state).pending.clone() else {
            return Ok(());
        };
        let written = write(&path);
        lock(&self.state).pending = None;
        written
    }
}

/// Writes out what a flight recorder has, a second from now, while recording goes on: `trace.dump-001.json` beside the output. The event
/// `trigger` in it says why and when. Returns whether it will be written: not if nothing is recorded, if the recording is no
/// flight recorder, or if [`DumpLimits`] do not allow it, which is counted. Never waits.
///
/// ```
/// # let step_ms = 3;
/// if step_ms > 50 {
///     ferrum_trace::dump("slow step");
/// }
/// ```
pub fn dump(reason: &str) -> bool {
    if crate::COMPILED_OUT || global::mode() == OFF {
        return false;
    }
    let Some(session) = global::active().filter(|session| session.spool().is_ring()) else {
        return false;
    };
    let Some(number) = session.dumps().grant() else {
        return false;
    };
    event::instant(&TRIGGER, &[reason.to_arg(), number.to_arg()]);
    write_later(&session);
    true
}

/// Should no thread be had, the file is written at the end of the recording.
fn write_later(session: &Arc<Session>) {
    let (after, session) = (session.dumps().limits.after, Arc::downgrade(session));
    let work = move || {
        thread::sleep(after);
        if let Some(session) = Weak::upgrade(&session).filter(|session| session.is_open()) {
            session.dump_loudly();
        }
    };
    let builder = thread::Builder::new().name("ferrum-trace-dump".into());
    let _ = without_signals(|| builder.spawn(work));
}

/// `trace.dump-001.json`, or the next number that no file of an earlier run has.
fn free_path(output: &Path, number: u32) -> PathBuf {
    let named = |number: u32| with_infix(output, &format!("dump-{number:03}"));
    (number..).map(named).find(|path| !path.exists()).unwrap_or_else(|| named(number))
}
