//! Threads that write files while the program goes on, and must not disturb it.

use crate::clock;
use crate::global;
use crate::os_thread::{lower_priority, stay_on_this_processor, without_signals};
use crate::spool::lock;
use std::cell::Cell;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How many are at work.
static AT_WORK: Mutex<usize> = Mutex::new(0);
static ONE_HAS_ENDED: Condvar = Condvar::new();

thread_local! {
    static IS_BACKGROUND: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread is one of those, and should leave the processors to others.
pub fn is_here() -> bool {
    IS_BACKGROUND.get()
}

/// Has a thread of ours leave the processors to others from now on. The system put it where there was least to do; there it stays, since a
/// thread of low priority that comes to another processor still takes it from whoever is there for milliseconds.
pub fn step_back() {
    IS_BACKGROUND.set(true);
    lower_priority();
    stay_on_this_processor();
}

/// Offers the processor to others that want it, if the calling thread works in the background. Costs nearly nothing if there are none.
pub fn give_way() {
    if is_here() {
        thread::yield_now();
    }
}

/// Starts a thread of the lowest priority that no signal is delivered to. `None` if there is none to be had.
pub fn spawn<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> Option<JoinHandle<T>> {
    let builder = thread::Builder::new().name(name.into());
    let work = move || {
        step_back();
        work()
    };
    without_signals(|| builder.spawn(work)).ok()
}

/// The same, for what the end of the process has to wait for. If there is no thread to be had, it is done here and now.
pub fn write<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Writing<T> {
    write_announced(Announced::new(), work)
}

/// The same for what was announced before.
pub fn write_announced<T: Send + 'static>(
    announced: Announced,
    work: impl FnOnce() -> T + Send + 'static,
) -> Writing<T> {
    // What a thread is to do is gone with it if it cannot be started.
    let work = Arc::new(Mutex::new(Some(work)));
    let do_it = {
        let work = Arc::clone(&work);
        move || {
            let work = lock(&work).take();
            let result = work.map(|work| work());
            drop(announced);
            result
        }
    };
    match spawn("ferrum-trace-write", do_it) {
        Some(thread) => Writing::Elsewhere(thread),
        None => {
            let work = lock(&work).take();
            Writing::Done(work.map(|work| work()))
        }
    }
}

/// Something that is being written.
#[derive(Debug)]
pub enum Writing<T> {
    Elsewhere(JoinHandle<Option<T>>),
    Done(Option<T>),
}

impl<T> Writing<T> {
    /// Waits for what came of it. `None` if it panicked.
    pub fn wait(self) -> Option<T> {
        match self {
            Self::Elsewhere(thread) => thread.join().ok().flatten(),
            Self::Done(result) => result,
        }
    }
}

/// Counts a writer in that will begin soon, and out when it has ended or never began.
pub struct Announced(());

impl Announced {
    pub fn new() -> Self {
        *lock(&AT_WORK) += 1;
        Self(())
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        let mut at_work = lock(&AT_WORK);
        *at_work = at_work.saturating_sub(1);
        ONE_HAS_ENDED.notify_all();
    }
}

/// Ends a recording of the process, if it is still that, and completes its file while the program goes on.
pub fn finish(session: u64) {
    if let Some(session) = global::take_active(session) {
        write(move || {
            global::complete_loudly(&session, session.losses());
            session.release_memory();
        });
    }
}

/// How many files are being written.
pub fn n_at_work() -> usize {
    *lock(&AT_WORK)
}

/// The process ends: waits for those that are writing.
pub fn wait_for_all() {
    let mut at_work = lock(&AT_WORK);
    while *at_work > 0 {
        let waited = ONE_HAS_ENDED.wait_timeout(at_work, Duration::from_secs(1));
        at_work = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
    }
}

/// In a forked child, which has none of its parent's threads.
pub fn forget_in_child() {
    // Another thread of the parent may have had the lock: then it is of no use to anybody here.
    if let Ok(mut at_work) = AT_WORK.try_lock() {
        *at_work = 0;
    }
}

/// Sleeps until a moment of the monotonic clock, as long as `goes_on`.
pub fn sleep_until(nanos: u64, goes_on: impl Fn() -> bool) {
    const NAP: Duration = Duration::from_millis(200);
    while goes_on() {
        let left = Duration::from_nanos(nanos.saturating_sub(clock::monotonic_nanos()));
        if left.is_zero() {
            return;
        }
        thread::sleep(left.min(NAP));
    }
}
