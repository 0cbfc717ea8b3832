//! Background threads, which write files while the program continues.
//!
//! A write has two threads. The *writer* has the lowest priority, so that it takes only processor time that nobody else
//! wants. If all processors are busy, it gets hardly any. A thread without privileges cannot raise its priority again,
//! so there is a second thread: the *deputy* has the program's priority and sleeps. It takes over when the writer has
//! waited for a processor for two seconds and has run for less time than that, or at once when a rotating recording
//! falls behind and would lose events. What the writer has done by then is lost, which is less than it has waited.
//!
//! A write is announced before it starts, so that the end of the process waits for it. A thread that needs the files
//! takes over in turn after a second:
//!
//! ```text
//! writer                        deputy, in `quietly`               foreground thread, in `finish_all`
//! ───────────────────────────   ────────────────────────────────   ──────────────────────────────────────────────────
//! runs the work, calls          waits for the writer, looks        waits for all announced writes, up to
//!   `checkpoint` between blocks   whether it starves                 `CANCEL_AFTER`
//!                               cancels the writer
//! the next `checkpoint` fails,
//!   the work stops              runs the work, calls `checkpoint`
//!                                                                  sets `IS_CANCELLED`
//!                               the next `checkpoint` fails        waits until no write is active
//!                               `hand_back`: the work to do again
//!                                                                  does the work that was handed back
//! ```
//!
//! The failure of cancelled work is not an error: callers test for [`is_cancelled`]. Work may therefore run up to three
//! times, one after the other, and only the last run counts.

use crate::os::clock;
use crate::os::process::is_ending;
use crate::os::thread::{self as os_thread, lower_priority, stay_on_this_processor};
use crate::util::lock::lock;
use crate::util::turn::Turn;
use std::cell::RefCell;
use std::io;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

static WRITERS: Mutex<Writers> = Mutex::new(Writers { handed_back: Vec::new() });
/// Number of background writes. Changed under the lock of [`WRITERS`]; recording threads read it without the lock,
/// which a thread of low priority may hold.
static N_ACTIVE: AtomicUsize = AtomicUsize::new(0);
/// Notified when a write ends and when a deputy may have to take over.
static CHANGED: Condvar = Condvar::new();
/// True while a foreground thread takes over the pending writes.
static IS_CANCELLED: AtomicBool = AtomicBool::new(false);
/// The [`Urgency`] that the recording demands.
static DEMANDED: AtomicU8 = AtomicU8::new(Urgency::Low as u8);
/// Time that a foreground thread waits for background writes before it takes over. Most are done by then, unless all
/// processors are busy.
const CANCEL_AFTER: Duration = Duration::from_secs(1);
/// Time that a writer may wait for a processor before its deputy takes over.
const STARVED_AFTER: Duration = Duration::from_secs(2);
/// Time for which a deputy yields its processor after each block. It takes a fair share afterwards.
const YIELDS_FOR: Duration = Duration::from_secs(5);
/// Time after a take-over for which the processors count as busy, so that later writes begin on the deputy.
const BUSY_FOR: Duration = Duration::from_secs(30);
/// End of that time, in nanoseconds of the monotonic clock.
static BUSY_UNTIL: AtomicU64 = AtomicU64::new(0);
/// Interval at which a deputy looks at its writer.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The share of the processors that background writes take from the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Urgency {
    /// The lowest priority. On busy processors, a write gets less than a hundredth of one.
    Low,
    /// The program's priority, but the processor is yielded after each turn.
    Raised,
    /// The program's priority: a fair share.
    Full,
}

struct Writers {
    /// Work of cancelled deputies, for the foreground thread to do.
    handed_back: Vec<Box<dyn FnOnce() + Send>>,
}

/// The part that the calling thread has in a write.
enum Role {
    /// Not a background thread.
    Foreground,
    Writer(Arc<Attempt>),
    Deputy {
        /// Nanoseconds of the monotonic clock when it took over.
        since: u64,
    },
}

thread_local! {
    /// Has no destructor, since a thread may complete a recording while it ends.
    static ROLE: RefCell<ManuallyDrop<Role>> = const { RefCell::new(ManuallyDrop::new(Role::Foreground)) };
    static TURN: RefCell<Turn> = const { RefCell::new(Turn::new()) };
}

/// A run of some work at the lowest priority.
#[derive(Default)]
struct Attempt {
    /// The system's number of the writer, 0 before it runs.
    thread: AtomicU64,
    /// True if the deputy wants to take over.
    is_cancelled: AtomicBool,
    /// True if a checkpoint has failed, so that the work has to be done again.
    has_stopped: AtomicBool,
    is_done: AtomicBool,
}

/// Demands that all background writes have at least this share of the processors from now on.
pub(crate) fn demand(urgency: Urgency) {
    if DEMANDED.swap(urgency as u8, Ordering::Relaxed) < urgency as u8 {
        drop(lock(&WRITERS));
        CHANGED.notify_all();
    }
}

/// Returns true if this or a higher urgency is demanded.
pub(crate) fn is_demanded(urgency: Urgency) -> bool {
    DEMANDED.load(Ordering::Relaxed) >= urgency as u8
}

fn with_role<T>(work: impl FnOnce(&Role) -> T) -> T {
    ROLE.with_borrow(|role| work(role))
}

fn set_role(role: Role) {
    drop(ManuallyDrop::into_inner(ROLE.replace(ManuallyDrop::new(role))));
}

/// Returns true if the calling thread is a background thread, which leaves the processors to others.
pub(crate) fn is_background() -> bool {
    with_role(|role| !matches!(role, Role::Foreground))
}

/// Makes the calling thread, which belongs to the recorder and has the program's priority, a deputy.
pub(crate) fn become_deputy() {
    set_role(Role::Deputy { since: clock::monotonic_nanos() });
}

/// Makes the calling thread a writer. It stays on its processor, which the system chose as the least busy one: a thread
/// of low priority that moves to another processor interrupts the thread there for milliseconds.
fn become_writer(attempt: &Arc<Attempt>) {
    attempt.thread.store(os_thread::id(), Ordering::Relaxed);
    set_role(Role::Writer(Arc::clone(attempt)));
    lower_priority();
    stay_on_this_processor();
}

/// Ends the turn on the processor if the calling thread is a background thread whose work is not urgent. Returns an
/// error if another thread takes over its work.
pub(crate) fn checkpoint() -> io::Result<()> {
    if is_cancelled() {
        return Err(io::Error::other("another thread writes the file"));
    }
    let yields = with_role(|role| match role {
        Role::Foreground => false,
        Role::Writer(_) => true,
        Role::Deputy { since } => {
            let is_late = clock::monotonic_nanos().saturating_sub(*since) > YIELDS_FOR.as_nanos() as u64;
            !is_late && !is_demanded(Urgency::Full)
        }
    });
    if yields {
        TURN.with_borrow_mut(Turn::yield_if_over);
    }
    Ok(())
}

/// Returns true if the calling thread is a background thread and another thread takes over its work. An error of the
/// work is expected then.
pub(crate) fn is_cancelled() -> bool {
    let is_cancelled = || IS_CANCELLED.load(Ordering::Relaxed);
    with_role(|role| match role {
        Role::Foreground => false,
        Role::Deputy { .. } => is_cancelled(),
        Role::Writer(attempt) => {
            let has_stopped = is_cancelled() || attempt.is_cancelled.load(Ordering::Relaxed);
            // Once true, it stays so, whatever the flags are by then.
            attempt.has_stopped.fetch_or(has_stopped, Ordering::Relaxed) || has_stopped
        }
    })
}

/// Hands `work` back to the thread that takes over. Returns false if the calling thread is not cancelled.
pub(crate) fn hand_back(work: impl FnOnce() + Send + 'static) -> bool {
    let is_cancelled = is_cancelled();
    // The deputy of a writer does all of the work again.
    let is_deputy = with_role(|role| matches!(role, Role::Deputy { .. }));
    if is_cancelled && is_deputy {
        lock(&WRITERS).handed_back.push(Box::new(work));
    }
    is_cancelled
}

/// Starts a thread of the recorder, to which no signal is delivered. Returns `None` if it cannot be started.
pub(crate) fn spawn<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> Option<JoinHandle<T>> {
    let builder = thread::Builder::new().name(name.into());
    os_thread::spawn(builder, work)
}

/// Runs `work` in the background; the end of the process waits for it. If no thread can be started, runs it on the
/// calling thread.
pub(crate) fn write<T: Send + 'static>(work: impl Fn() -> T + Send + Sync + 'static) -> Writing<T> {
    on_deputy(Announced::new(), move || quietly(&Arc::new(work)))
}

/// Runs `work`, which was announced before, on a deputy. Most of it should be [`quietly`] done. If no thread can be
/// started, runs it on the calling thread.
pub(crate) fn on_deputy<T: Send + 'static>(
    announced: Announced,
    work: impl FnOnce() -> Option<T> + Send + 'static,
) -> Writing<T> {
    // Shared, because the closure is lost if the thread cannot be started.
    let work = Arc::new(Mutex::new(Some(work)));
    let run = {
        let work = Arc::clone(&work);
        move || {
            become_deputy();
            let work = lock(&work).take();
            let result = work.and_then(|work| work());
            drop(announced);
            result
        }
    };
    match spawn("ferrum-trace-deputy", run) {
        Some(thread) => Writing::OnThread(thread),
        None => {
            let work = lock(&work).take();
            Writing::Done(work.and_then(|work| work()))
        }
    }
}

/// Runs `work` on a writer, and on the calling thread, which is a deputy, if the writer is cancelled. On any other
/// thread, runs it directly. Returns `None` if the work panicked on a writer.
pub(crate) fn quietly<T: Send + 'static>(work: &Arc<impl Fn() -> T + Send + Sync + 'static>) -> Option<T> {
    let is_deputy = with_role(|role| matches!(role, Role::Deputy { .. }));
    let is_busy = clock::monotonic_nanos() < BUSY_UNTIL.load(Ordering::Relaxed);
    if is_deputy && os_thread::HAS_PRIORITIES && !is_busy && !is_demanded(Urgency::Raised) {
        let attempt = Arc::new(Attempt::default());
        if let Some(result) = attempt_at_low_priority(&attempt, work)
            && !attempt.has_stopped.load(Ordering::Relaxed)
        {
            return result;
        }
        BUSY_UNTIL.store(clock::monotonic_nanos() + BUSY_FOR.as_nanos() as u64, Ordering::Relaxed);
    }
    if is_deputy {
        become_deputy();
    }
    Some(work())
}

/// Runs `work` on a writer until it is done, has panicked (then the result contains `None`), or is cancelled. Returns
/// `None` if the writer cannot be started.
fn attempt_at_low_priority<T: Send + 'static>(
    attempt: &Arc<Attempt>,
    work: &Arc<impl Fn() -> T + Send + Sync + 'static>,
) -> Option<Option<T>> {
    /// Wakes the deputy, also after a panic.
    struct Done(Arc<Attempt>);
    impl Drop for Done {
        fn drop(&mut self) {
            self.0.is_done.store(true, Ordering::Release);
            drop(lock(&WRITERS));
            CHANGED.notify_all();
        }
    }
    let writer = spawn("ferrum-trace-write", {
        let (attempt, work) = (Arc::clone(attempt), Arc::clone(work));
        move || {
            become_writer(&attempt);
            let _done = Done(attempt);
            let result = work();
            set_role(Role::Foreground);
            result
        }
    })?;
    let begun = clock::monotonic_nanos();
    while !attempt.is_done.load(Ordering::Acquire) {
        if is_demanded(Urgency::Raised) || is_starved(attempt, begun) {
            attempt.is_cancelled.store(true, Ordering::Relaxed);
            break;
        }
        let writers = lock(&WRITERS);
        let is_unchanged = |_: &mut Writers| !attempt.is_done.load(Ordering::Acquire) && !is_demanded(Urgency::Raised);
        drop(CHANGED.wait_timeout_while(writers, LOOK_EVERY, is_unchanged));
    }
    Some(writer.join().ok())
}

/// Returns true if a writer has waited for a processor for too long. What it has done until then took less time than it
/// has waited, so that doing it again costs less than the wait. `begun` is the time when it was started.
fn is_starved(attempt: &Attempt, begun: u64) -> bool {
    let since_begin = Duration::from_nanos(clock::monotonic_nanos().saturating_sub(begun));
    if since_begin < STARVED_AFTER {
        return false;
    }
    // If the system does not tell, all of the time counts as waiting.
    let times = os_thread::times_of(attempt.thread.load(Ordering::Relaxed));
    let (ran, waited) = times.unwrap_or((Duration::ZERO, since_begin));
    waited >= STARVED_AFTER && waited > ran
}

/// Work that is running on a background thread, or that is done.
#[derive(Debug)]
pub(crate) enum Writing<T> {
    OnThread(JoinHandle<Option<T>>),
    Done(Option<T>),
}

impl<T> Writing<T> {
    /// Waits for the result. Returns `None` if the work panicked.
    pub(crate) fn wait(self) -> Option<T> {
        match self {
            Self::OnThread(thread) => thread.join().ok().flatten(),
            Self::Done(result) => result,
        }
    }
}

/// Counts a background write as active until this is dropped.
pub(crate) struct Announced(());

impl Announced {
    pub(crate) fn new() -> Self {
        let _writers = lock(&WRITERS);
        N_ACTIVE.fetch_add(1, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        let _writers = lock(&WRITERS);
        // Zero in a forked child, where the announcements of the parent do not count.
        let _ = N_ACTIVE.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
        CHANGED.notify_all();
    }
}

/// Returns the number of background writes that are active.
pub(crate) fn n_active() -> usize {
    N_ACTIVE.load(Ordering::Relaxed)
}

/// Returns when all background writes are done. Takes over those that are not done within [`CANCEL_AFTER`].
pub(crate) fn finish_all() {
    if !IS_CANCELLED.load(Ordering::Relaxed) {
        wait_for_writers(CANCEL_AFTER);
        IS_CANCELLED.store(true, Ordering::Relaxed);
    }
    wait_for_writers(Duration::MAX);
    let handed_back = std::mem::take(&mut lock(&WRITERS).handed_back);
    handed_back.into_iter().for_each(|work| work());
    // If the process ends, later background writes are cancelled at once.
    if !is_ending() {
        IS_CANCELLED.store(false, Ordering::Relaxed);
    }
}

fn wait_for_writers(timeout: Duration) {
    let writers = lock(&WRITERS);
    let is_any_active = |_: &mut Writers| n_active() > 0;
    drop(CHANGED.wait_timeout_while(writers, timeout, is_any_active));
}

/// In a forked child: forgets the background threads of the parent.
pub(crate) fn forget_in_child() {
    // If another thread of the parent held the lock at the fork, it is never released here.
    if let Ok(mut writers) = WRITERS.try_lock() {
        // Not dropped: the parent completes and drops them.
        std::mem::forget(std::mem::take(&mut writers.handed_back));
    }
    N_ACTIVE.store(0, Ordering::Relaxed);
    IS_CANCELLED.store(false, Ordering::Relaxed);
    DEMANDED.store(Urgency::Low as u8, Ordering::Relaxed);
}

/// Sleeps until a time of the monotonic clock, or until `is_needed` returns false.
pub(crate) fn sleep_until(nanos: u64, is_needed: impl Fn() -> bool) {
    const NAP: Duration = Duration::from_millis(200);
    while is_needed() {
        let left = Duration::from_nanos(nanos.saturating_sub(clock::monotonic_nanos()));
        if left.is_zero() {
            return;
        }
        thread::sleep(left.min(NAP));
    }
}
