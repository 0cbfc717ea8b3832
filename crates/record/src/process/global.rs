//! The recording of the process: whether there is one, and what happens to it when the process forks or ends.

use crate::error::Error;
use crate::lifecycle::config::{self, Options};
use crate::memory::spool::{self, lock};
use crate::os::clock::{self, ClockKind};
use crate::os::stderr::say;
use crate::process::attach;
use crate::process::categories;
use crate::process::switch::{self, MONOTONIC, OFF, TICKS, UNDECIDED};
use crate::recording::background;
use crate::recording::session::Session;
use crate::stats::Stats;
use crate::thread::buffer::{self, Held};
use crate::thread::site::Site;
use crate::watch::panic_hook;
use crate::watch::steps;
use crate::watch::window;
use ferrum_trace_format::spool::record::SITE_MAX;
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, TryLockError, Weak};

/// How long a fork waits for a thread that is registering something.
const FORK_PATIENCE_NANOS: u64 = 100_000_000;

/// The id of the active session, 0 if there is none.
static ACTIVE_ID: AtomicU64 = AtomicU64::new(0);
/// The id of its recording, which may have begun in another session.
static RECORDING_ID: AtomicU64 = AtomicU64::new(0);
/// Set when the process ends.
static IS_ENDING: AtomicBool = AtomicBool::new(false);
/// Events lost in signal handlers that interrupted the recorder, until they are counted in the file.
static INTERRUPTED: AtomicU64 = AtomicU64::new(0);
/// How many forks this process is away from the one that was started.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// Set in a child that was forked while another thread had the registry for long: it belongs to nobody there, and the
/// child records nothing.
static IS_BLIND: AtomicBool = AtomicBool::new(false);

static REGISTRY: Mutex<Registry> = Mutex::new(Registry::new());

struct Registry {
    active: Option<Arc<Session>>,
    /// All call sites that have recorded, in the order of their numbers.
    sites: Vec<&'static Site>,
    /// All sessions that may be unfinished.
    sessions: Vec<Weak<Session>>,
    /// In a forked child, how to begin its own recording when it first records.
    restart: Option<Options>,
    /// What the active session was started with.
    options: Option<Options>,
}

impl Registry {
    const fn new() -> Self {
        Self { active: None, sites: Vec::new(), sessions: Vec::new(), restart: None, options: None }
    }
}

/// The mode, decided if it was not.
#[inline(always)]
pub fn mode() -> u8 {
    let mode = switch::mode();
    if mode == OFF {
        return OFF;
    }
    // Laid out of the way, so that being off is one branch that is not taken; being on costs a jump more.
    std::hint::cold_path();
    if mode == TICKS { TICKS } else { other_mode(mode) }
}

#[cold]
fn other_mode(mode: u8) -> u8 {
    if mode == UNDECIDED { decide() } else { mode }
}

/// The clock of the process's recording, resting or not, decided if it was not; [`OFF`] if there is none.
pub fn clock() -> u8 {
    mode();
    switch::clock()
}

/// Now, on the clock of the process's recording.
pub fn now() -> u64 {
    match switch::clock() {
        MONOTONIC => clock::advancing_nanos(),
        _ => clock::ticks(),
    }
}

/// Asks the environment, once. Other threads wait for the answer, so that none of their events is lost.
fn decide() -> u8 {
    if buffer::current().is_held() {
        // Somebody records from within the recorder, an allocator perhaps.
        return OFF;
    }
    with_registry(|registry| {
        if switch::mode() != UNDECIDED {
            return;
        }
        if let Some(options) = Options::from_vars(std::env::vars_os(), |complaint| say(&complaint))
            && options.window.has_rank(options.rank)
        {
            take_categories_of_environment(&options);
            if let Err(error) = start_locked(registry, options) {
                say(&format!("{error}; nothing is recorded"));
            }
        }
        switch::decide_off();
    });
    panic_hook::install_if_wanted();
    listen_if_asked();
    switch::mode()
}

/// Those of the environment are the process's, also of recordings that begin later.
fn take_categories_of_environment(options: &Options) {
    if let Some(categories) = &options.categories {
        categories::set_for_process(categories.clone());
        if let Some(words) = categories::misspelled(categories) {
            say(&format!("{}: {words}", config::CATEGORIES));
        }
    }
}

/// The HTTP interface that the environment asks for, once. In a forked child it stays the parent's.
fn listen_if_asked() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        #[cfg(feature = "http")]
        crate::http::serve_from_environment();
        #[cfg(not(feature = "http"))]
        if std::env::var_os(config::HTTP).is_some_and(|value| !config::is_off(&value)) {
            say(&format!("{}: this program is built without the feature `http`", config::HTTP));
        }
    });
}

fn with_registry<T>(work: impl FnOnce(&mut Registry) -> T) -> T {
    if IS_BLIND.load(Ordering::Relaxed) {
        return work(&mut Registry::new());
    }
    attach::quietly(|| work(&mut lock(&REGISTRY)))
}

/// A recording, and whether the environment asked for it.
pub type Started = (Arc<Session>, bool);

/// Begins the recording of the process. If the environment asks for one, that is the one: whoever runs the program decides.
pub fn start(options: Options) -> Result<Started, Error> {
    mode();
    let started = with_registry(|registry| match of_environment(registry)? {
        Some(session) => Ok((session, true)),
        None => start_locked(registry, options).map(|session| (session, false)),
    });
    panic_hook::install_if_wanted();
    listen_if_asked();
    started
}

/// The recording that the environment asked for, if it goes on. In a forked child that has not recorded yet, it begins here.
fn of_environment(registry: &mut Registry) -> Result<Option<Arc<Session>>, Error> {
    if registry.active.is_none()
        && let Some(options) = registry.restart.take_if(|options| options.is_of_environment)
    {
        return start_locked(registry, options).map(Some);
    }
    let is_of_environment = registry.options.as_ref().is_some_and(|options| options.is_of_environment);
    Ok(registry.active.clone().filter(|_| is_of_environment))
}

fn start_locked(registry: &mut Registry, mut options: Options) -> Result<Arc<Session>, Error> {
    if registry.active.is_some() {
        return Err(Error::already_recording());
    }
    install_hooks();
    // A forked child takes the path from here, and may be in another directory by then.
    if let Ok(absolute) = std::path::absolute(&options.out) {
        options.out = absolute;
    }
    if let Some(pattern) = &mut options.pattern {
        pattern.make_absolute();
    }
    let session = Session::start(&options)?;
    for site in &registry.sites {
        session.define_site(site, site.known_id());
    }
    categories::begin(options.categories.clone());
    let window = options.window.clone();
    let rests = window::prepare(&window, options.rank);
    registry.active = Some(Arc::clone(&session));
    registry.options = Some(options);
    registry.restart = None;
    remember(registry, &session);
    ACTIVE_ID.store(session.id(), Ordering::Release);
    RECORDING_ID.store(session.recording(), Ordering::Release);
    let clock = match session.clock() {
        ClockKind::Ticks => TICKS,
        ClockKind::Monotonic => MONOTONIC,
    };
    session.watch().begin();
    switch::begin(clock, &rests);
    window::watch_time(session.recording(), &window);
    Ok(session)
}

/// Has the process's recording go on in another file. False if `old` is not what it goes on in.
///
/// Whoever records finds the new file from the moment that it is active; only then the old one is closed, which has those who
/// still write to it ask for another chunk. So every event is in one of the two.
pub fn hand_over(old: &Session) -> Result<bool, Error> {
    let Some(options) = with_registry(|registry| registry.options.clone()) else {
        return Ok(false);
    };
    let Some(next) = old.next(&options)? else {
        return Ok(false);
    };
    let is_switched = with_registry(|registry| {
        remember(registry, &next);
        if !is_active(old.id()) || is_ending() {
            return false;
        }
        let has_sites = registry.sites.iter().all(|site| next.define_site(site, site.known_id()).is_some());
        let switch = || {
            registry.active = Some(Arc::clone(&next));
            ACTIVE_ID.store(next.id(), Ordering::Release);
        };
        has_sites && old.hand_over_to(&next, switch) && old.close()
    });
    if !is_switched {
        next.discard();
        let is_over = !is_active(old.id()) || is_ending();
        return if is_over { Ok(false) } else { Err(Error::no_room(next.output_path())) };
    }
    old.hand_open_spans_over_to(&next);
    Ok(true)
}

/// A recording besides the process's own.
pub fn start_private(options: &Options) -> Result<Arc<Session>, Error> {
    with_registry(|_| install_hooks());
    let session = Session::start(options)?;
    with_registry(|registry| remember(registry, &session));
    Ok(session)
}

fn remember(registry: &mut Registry, session: &Arc<Session>) {
    registry.sessions.retain(|session| session.upgrade().is_some_and(|session| session.is_open()));
    registry.sessions.push(Arc::downgrade(session));
}

/// The active session. In a forked child that records for the first time, its own is begun here.
pub fn active() -> Option<Arc<Session>> {
    with_registry(|registry| {
        if registry.active.is_none()
            && let Some(options) = registry.restart.take()
            && let Err(error) = start_locked(registry, options)
        {
            switch::end();
            say(&format!("{error}; nothing is recorded"));
        }
        registry.active.clone()
    })
}

/// The id of the active session, 0 if there is none.
pub fn active_id() -> u64 {
    ACTIVE_ID.load(Ordering::Acquire)
}

/// Whether `id` is that of the active session.
pub fn is_active(id: u64) -> bool {
    active_id() == id
}

/// The id of the process's recording, 0 if there is none or, in a forked child, none of its own yet. It stays the same when the
/// recording goes on in another file.
pub fn recording_id() -> u64 {
    RECORDING_ID.load(Ordering::Acquire)
}

/// Whether `id` is that of the process's recording.
pub fn is_recording(id: u64) -> bool {
    recording_id() == id
}

/// Whether the process is about to end, and waits for files to be written.
pub fn is_ending() -> bool {
    IS_ENDING.load(Ordering::Relaxed)
}

/// Later files of the recording name the process so, too.
pub fn remember_process_name(name: &str) {
    with_registry(|registry| {
        if let Some(options) = &mut registry.options {
            options.process_name = Some(name.to_owned());
        }
    });
}

/// Records these categories until the process's recording ends.
#[cfg(feature = "http")]
pub fn set_categories(categories: ferrum_trace_model::settings::Categories) -> Result<(), Error> {
    with_registry(|registry| {
        let options = registry.options.as_mut().filter(|_| registry.active.is_some());
        // A forked child begins with them, too.
        options.ok_or_else(Error::not_recording)?.categories = Some(categories.clone());
        categories::set_for_recording(categories);
        Ok(())
    })
}

/// Says why a recording that is about to end has no event, if that is because of its categories.
fn say_if_muted(session: &Session) {
    if !session.has_chunks()
        && let Some(words) = categories::why_empty()
    {
        say(&format!("{}: {words}", session.output_path().display()));
    }
}

/// Gives a site its number, and defines it in the active session. 0 if that has no room for it.
#[cold]
pub fn register_site(site: &'static Site) -> u32 {
    with_registry(|registry| {
        if site.known_id() != 0 {
            return site.known_id();
        }
        // Even numbers: the odd ones are of names made at run time.
        let id = (2 * (registry.sites.len() as u32 + 1)).min(SITE_MAX - 1);
        if let Some(session) = &registry.active
            && session.define_site(site, id).is_none()
        {
            // No room for its name, so its events are lost. There may be room in another recording.
            return 0;
        }
        registry.sites.push(site);
        site.set_id(id);
        id
    })
}

/// Counts an event that a signal handler could not record because it interrupted the recorder.
#[cold]
pub fn count_interrupted() {
    INTERRUPTED.fetch_add(1, Ordering::Relaxed);
}

/// Counts an event that no thread's own count has.
#[cold]
pub fn count_lost() {
    if let Some(session) = active() {
        session.count_dropped(1);
    }
}

/// The events counted by [`count_interrupted`] since the last call.
pub fn take_interrupted() -> u64 {
    INTERRUPTED.swap(0, Ordering::Relaxed)
}

/// Brings the output of the process's recording up to date.
pub fn flush() -> Result<(), Error> {
    let session = running().ok_or_else(Error::not_recording)?;
    session.flush()
}

/// Counts of the process's recording, if there is one.
pub fn stats() -> Option<Stats> {
    running()?.stats_of_recording().ok()
}

/// The active session, as it is.
pub fn running() -> Option<Arc<Session>> {
    with_registry(|registry| registry.active.clone())
}

/// Ends the process's recording, if `id` is that of it.
pub fn finish(id: u64) -> Result<Stats, Error> {
    let session = take_active(id).ok_or_else(Error::not_recording)?;
    let result = session.complete();
    session.release_memory();
    let Some(part) = session.part() else {
        return result;
    };
    // Those before it may still be in the making.
    background::finish_all();
    result.map(|mut stats| {
        stats += part.done();
        stats
    })
}

/// Closes the process's recording, if `id` is that of it (see [`recording_id`]). It is the caller's to complete.
pub fn take_active(id: u64) -> Option<Arc<Session>> {
    let session = with_registry(|registry| {
        if registry.active.as_ref().is_none_or(|session| session.recording() != id) {
            return None;
        }
        switch::end();
        steps::end();
        ACTIVE_ID.store(0, Ordering::Release);
        RECORDING_ID.store(0, Ordering::Release);
        registry.active.iter().for_each(|session| say_if_muted(session));
        categories::end();
        registry.active.take().filter(|session| session.shut())
    })?;
    // Now, not when it is completed: threads would go on recording into it, though another one may have begun by then. And not
    // under the registry, which they ask for the other one.
    session.take_chunks_back();
    Some(session)
}

/// The process ends: every recording that is still open is finished. Threads that still run may go on recording into
/// memory that stays where it is.
pub fn finish_at_end() {
    IS_ENDING.store(true, Ordering::Relaxed);
    switch::end();
    steps::end();
    // A writer of low priority may have what a recording needs to be finished.
    background::finish_all();
    let sessions = with_registry(|registry| {
        registry.restart = None;
        registry.active.iter().filter(|session| session.is_open()).for_each(|session| say_if_muted(session));
        std::mem::take(&mut registry.sessions)
    });
    for session in sessions.iter().filter_map(Weak::upgrade) {
        finish_loudly(&session);
    }
    background::finish_all();
    #[cfg(all(feature = "http", unix))]
    crate::http::remove_at_end();
}

/// Finishes a session, and says in one line what was lost or went wrong.
pub fn finish_loudly(session: &Arc<Session>) {
    let losses = session.losses();
    if session.close() {
        complete_loudly(session, losses);
    }
}

/// Completes a session that has been closed, likewise, whether it is one of several files or not. The process goes on.
pub fn complete(session: &Arc<Session>) {
    let Some(completed) = complete_loudly(session, session.losses()) else {
        return;
    };
    session.release_memory();
    if let (Some(part), Ok(stats)) = (session.part(), completed) {
        part.is_done(session.output_path(), stats);
    }
}

/// Completes a session that has been closed, and says what was lost or went wrong. `losses` are those before. `None` if another thread does it.
fn complete_loudly(session: &Arc<Session>, losses: Option<(u64, String)>) -> Option<Result<Stats, Error>> {
    let completed = session.complete();
    match &completed {
        Ok(stats) => {
            let Stats { dropped, recorded, dumps, dumps_refused, refused, .. } = *stats;
            let why = losses.map_or(String::new(), |(_, why)| why);
            let lost = (dropped > 0).then(|| format!("{dropped} events lost{why}, {recorded} recorded"));
            let refused =
                (dumps_refused > 0).then(|| format!("{dumps_refused} dumps refused ({refused}), {dumps} granted"));
            let left = "nothing was recorded; the file that was there is left as it is".to_owned();
            let left = session.has_left_file().then_some(left);
            let words: Vec<String> = lost.into_iter().chain(refused).chain(left).collect();
            if !words.is_empty() {
                say(&format!("{}: {}", session.output_path().display(), words.join("; ")));
            }
        }
        Err(_) if background::leave(session) => return None,
        Err(error) => {
            let lost = losses.map_or(String::new(), |(dropped, why)| format!("; {dropped} events lost{why}"));
            let spool = session.spool_path();
            say(&format!("{error}{lost}; the trace is kept: ferrum-trace recover {}", spool.display()));
        }
    }
    Some(completed)
}

/// The caller has the registry, so that no fork comes in between.
fn install_hooks() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        spool::install_hooks();
    });
}

/// What a thread holds while it forks. It is given back in this order: the registry is free before a signal handler may
/// ask for it.
#[derive(Default)]
struct HeldOverFork {
    /// So that no other thread holds it at that moment: it would never be given back in the child. `None` if another
    /// thread has had it for long.
    registry: Option<MutexGuard<'static, Registry>>,
    /// So that signal handlers of this thread keep out: one that needs the registry would wait for the very fork that it
    /// interrupts, for ever. `None` if the fork is itself in a handler that interrupted the recorder.
    buffer: Option<Held<'static>>,
}

thread_local! {
    /// It has no destructor: threads may fork while they end.
    static HELD_OVER_FORK: Cell<ManuallyDrop<HeldOverFork>> =
        const { Cell::new(ManuallyDrop::new(HeldOverFork { registry: None, buffer: None })) };
}

fn take_held_over_fork() -> HeldOverFork {
    ManuallyDrop::into_inner(HELD_OVER_FORK.with(Cell::take))
}

/// Called before each fork, on the thread that forks.
pub extern "C" fn before_fork() {
    let buffer = buffer::current().hold();
    let deadline = clock::monotonic_nanos() + FORK_PATIENCE_NANOS;
    let registry = loop {
        match REGISTRY.try_lock() {
            Ok(guard) => break Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => break Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if clock::monotonic_nanos() > deadline => break None,
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
        }
    };
    HELD_OVER_FORK.with(|held| held.set(ManuallyDrop::new(HeldOverFork { registry, buffer })));
}

/// Called in the parent after each fork.
pub extern "C" fn after_fork_in_parent() {
    drop(take_held_over_fork());
}

/// The child leaves its parent's recordings alone. If the parent records, the child begins its own when it first does.
pub extern "C" fn after_fork_in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
    INTERRUPTED.store(0, Ordering::Relaxed);
    ACTIVE_ID.store(0, Ordering::Release);
    RECORDING_ID.store(0, Ordering::Release);
    steps::end();
    let mut held = take_held_over_fork();
    attach::forget_in_child(held.buffer.as_ref());
    background::forget_in_child();
    let Some(registry) = &mut held.registry else {
        IS_BLIND.store(true, Ordering::Relaxed);
        switch::end();
        return;
    };
    for session in std::mem::take(&mut registry.sessions) {
        if let Some(session) = session.upgrade() {
            session.spool().abandon_in_child();
            std::mem::forget(session);
        }
    }
    let options = registry.options.take();
    if let Some(session) = registry.active.take() {
        std::mem::forget(session);
        registry.restart = options.map(|options| Options { is_forked: true, ..options });
    }
}

/// A number that differs between a process and its forked children.
pub fn fork_generation() -> u64 {
    FORKS.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handler_that_interrupts_a_fork_does_not_wait_for_it() {
        before_fork();
        // What a handler would call: this thread has the registry, so asking for it would take for ever.
        assert!(buffer::current().is_held());
        assert_eq!(attach::thread_id(), None);
        after_fork_in_parent();
        assert!(!buffer::current().is_held());
    }
}
