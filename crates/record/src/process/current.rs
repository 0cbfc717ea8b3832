//! The current recording of the process: its ids, which threads read without a lock, and the registry, which has a
//! lock.

use crate::error::Error;
use crate::flight::recording::Recording;
use crate::os::clock;
use crate::os::stderr::say;
use crate::process::options::Options;
use crate::process::switch;
use crate::thread::buffer::quietly;
use crate::thread::interrupted;
use crate::thread::site::{Site, Sites};
use crate::util::lock::{lock, lock_for_event, try_lock};
use ferrum_trace_format::spool::record::SITE_MAX;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError, Weak};

/// Id of the active session, 0 if there is none.
static ACTIVE_ID: AtomicU64 = AtomicU64::new(0);
/// Id of its recording, which may have started in another session.
static RECORDING_ID: AtomicU64 = AtomicU64::new(0);
/// True in a child that was forked while another thread held the registry for long. The lock is never released there,
/// and the child records nothing.
static HAS_NO_REGISTRY: AtomicBool = AtomicBool::new(false);

static REGISTRY: Mutex<Registry> = Mutex::new(Registry::new());

/// Recordings and call sites of the process.
pub(crate) struct Registry {
    pub active: Option<Arc<Recording>>,
    /// Call sites that have recorded.
    pub sites: Sites,
    /// Recordings that may be unfinished.
    pub recordings: Vec<Weak<Recording>>,
    /// Number of recordings that have ended and whose chunks are not closed yet. None starts meanwhile: threads would
    /// write events to these chunks that refer to definitions of the new recording.
    pub n_closing: usize,
    /// In a forked child: options of its own recording, which starts with its first event.
    pub restart: Option<Options>,
    /// Options of the active recording.
    pub options: Option<Options>,
    /// Starts the recording of a forked child. Set with the first recording, by the layer that starts recordings.
    pub start: Option<StartRecording>,
}

/// Starts a recording and makes it the active one.
pub(crate) type StartRecording = fn(&mut Registry, Options) -> Result<Arc<Recording>, Error>;

impl Registry {
    const fn new() -> Self {
        Self {
            active: None,
            sites: Sites::new(),
            recordings: Vec::new(),
            n_closing: 0,
            restart: None,
            options: None,
            start: None,
        }
    }

    /// Makes a recording the active one.
    pub(crate) fn activate(&mut self, recording: &Arc<Recording>, options: Options) {
        self.options = Some(options);
        self.restart = None;
        self.remember(recording);
        self.continue_in(recording);
        RECORDING_ID.store(recording.recording(), Ordering::Release);
    }

    /// Makes another part of the active recording the active one.
    pub(crate) fn continue_in(&mut self, part: &Arc<Recording>) {
        self.active = Some(Arc::clone(part));
        ACTIVE_ID.store(part.id(), Ordering::Release);
    }

    /// Adds a recording to those that may be unfinished.
    pub(crate) fn remember(&mut self, recording: &Arc<Recording>) {
        self.recordings.retain(|recording| recording.upgrade().is_some_and(|recording| recording.is_open()));
        self.recordings.push(Arc::downgrade(recording));
    }
}

/// Calls `work` with the registry. Signal handlers of this thread cannot record meanwhile.
pub(crate) fn with_registry<T>(work: impl FnOnce(&mut Registry) -> T) -> T {
    if HAS_NO_REGISTRY.load(Ordering::Relaxed) {
        return work(&mut Registry::new());
    }
    quietly(|| work(&mut lock(&REGISTRY)))
}

/// The registry is not available to an event: another thread holds it for too long.
#[derive(Debug)]
pub(crate) struct Busy;

/// Does the same as [`with_registry`] for an event, which does not wait for long.
fn with_registry_for_event<T>(work: impl FnOnce(&mut Registry) -> T) -> Result<T, Busy> {
    if HAS_NO_REGISTRY.load(Ordering::Relaxed) {
        return Ok(work(&mut Registry::new()));
    }
    quietly(|| lock_for_event(&REGISTRY).map(|mut registry| work(&mut registry)).ok_or(Busy))
}

/// Calls `work` with the registry when no recording is being closed. Signal handlers of this thread cannot record
/// meanwhile.
pub(crate) fn with_registry_to_start<T>(work: impl FnOnce(&mut Registry) -> T) -> T {
    let mut work = Some(work);
    loop {
        let done = with_registry(|registry| {
            let work = if registry.n_closing == 0 { work.take() } else { None };
            work.map(|work| work(registry))
        });
        match done {
            Some(done) => return done,
            None => std::thread::yield_now(),
        }
    }
}

/// Locks the registry unless another thread holds it for longer than `timeout_nanos`.
pub(crate) fn lock_registry_for_fork(timeout_nanos: u64) -> Option<MutexGuard<'static, Registry>> {
    let deadline = clock::monotonic_nanos() + timeout_nanos;
    loop {
        match REGISTRY.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if clock::monotonic_nanos() > deadline => return None,
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
        }
    }
}

/// Marks the registry as unusable, in a forked child that could not get its lock.
pub(crate) fn give_up_registry() {
    HAS_NO_REGISTRY.store(true, Ordering::Relaxed);
}

/// Returns the active recording. In a forked child that records for the first time, its own recording starts here.
pub(crate) fn active() -> Option<Arc<Recording>> {
    with_registry(active_of)
}

/// Does the same as [`active`] for an event.
pub(crate) fn active_for_event() -> Result<Option<Arc<Recording>>, Busy> {
    with_registry_for_event(active_of)
}

fn active_of(registry: &mut Registry) -> Option<Arc<Recording>> {
    if registry.active.is_none()
        && let Some(start) = registry.start
        && let Some(options) = registry.restart.take()
        && let Err(error) = start(registry, options)
    {
        switch::end();
        say(&format!("{error}; nothing is recorded"));
    }
    registry.active.clone()
}

/// Returns the active recording, and starts none.
pub(crate) fn running() -> Option<Arc<Recording>> {
    with_registry(|registry| registry.active.clone())
}

/// Returns the id of the active session, 0 if there is none.
pub(crate) fn active_id() -> u64 {
    ACTIVE_ID.load(Ordering::Acquire)
}

/// Returns true if `id` is the id of the active session.
pub(crate) fn is_active(id: u64) -> bool {
    active_id() == id
}

/// Returns the id of the process's recording, 0 if there is none or, in a forked child, none of its own yet. A rotation
/// does not change it.
pub(crate) fn recording_id() -> u64 {
    RECORDING_ID.load(Ordering::Acquire)
}

/// Returns true if `id` is the id of the process's recording.
pub(crate) fn is_recording(id: u64) -> bool {
    recording_id() == id
}

/// Forgets the ids of the active recording.
pub(crate) fn clear_ids() {
    ACTIVE_ID.store(0, Ordering::Release);
    RECORDING_ID.store(0, Ordering::Release);
}

/// Uses the name for later parts of the recording too.
pub(crate) fn remember_process_name(name: &str) {
    with_registry(|registry| {
        if let Some(options) = &mut registry.options {
            options.session.process_name = Some(name.to_owned());
        }
    });
}

/// Returns the number of a call site, 0 if it cannot be defined now: there is no room, or a lock is held for too long.
#[inline]
pub(crate) fn site_id(site: &'static Site) -> u32 {
    match site.known_id() {
        0 => register_site(site),
        id => id,
    }
}

/// Gives a call site its number, and defines it in the active session. Allocates no memory.
#[cold]
fn register_site(site: &'static Site) -> u32 {
    let registered = with_registry_for_event(|registry| {
        if site.known_id() != 0 {
            return site.known_id();
        }
        // Even numbers: names made at run time have the odd ones.
        let id = (2 * (registry.sites.len() + 1)).min(SITE_MAX - 1);
        if let Some(recording) = &registry.active
            && recording.define_site(site, id).is_none()
        {
            // There is no room for its name, so its events are lost. There may be room in another recording.
            return 0;
        }
        registry.sites.add(site);
        site.set_id(id);
        id
    });
    registered.unwrap_or(0)
}

/// Counts a lost event that is in no thread's own count.
#[cold]
pub(crate) fn count_lost() {
    // Not waited for: the caller may have waited already.
    let registry = quietly(|| try_lock(&REGISTRY).map(|registry| registry.active.clone()));
    match registry {
        Some(Some(recording)) => recording.count_dropped(1),
        Some(None) => {}
        None => interrupted::count(),
    }
}
