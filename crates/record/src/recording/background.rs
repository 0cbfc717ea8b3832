//! Background threads, which write files at the lowest priority while the program continues.
//!
//! A write is announced before it starts, so that the end of the process waits for it. If all processors are busy, a
//! background thread gets hardly any time, so a thread that needs the files takes over after a second:
//!
//! ```text
//! background thread                             foreground thread, in `finish_all`
//! ───────────────────────────────────────────   ─────────────────────────────────────────────────────
//! `write`: runs its work,                       waits for all announced writes, up to `CANCEL_AFTER`
//!   calls `checkpoint` between blocks
//!                                               sets `IS_CANCELLED`
//! the next `checkpoint` fails, the work stops   waits until no write is active
//! `hand_back`: the work to do again
//!                                               does the work that was handed back
//! ```
//!
//! The failure of a cancelled write is not an error: callers test for [`is_cancelled`].

use crate::os::clock;
use crate::os::process::is_ending;
use crate::os::thread::{self as os_thread, lower_priority, stay_on_this_processor};
use crate::util::lock::lock;
use std::cell::Cell;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

static WRITERS: Mutex<Writers> = Mutex::new(Writers { n_active: 0, handed_back: Vec::new() });
static WRITER_ENDED: Condvar = Condvar::new();
/// True while a foreground thread takes over the pending writes.
static IS_CANCELLED: AtomicBool = AtomicBool::new(false);
/// Time that a foreground thread waits for background writes before it takes over. Most are done by then, unless all
/// processors are busy.
const CANCEL_AFTER: Duration = Duration::from_secs(1);

struct Writers {
    n_active: usize,
    /// Work of cancelled writers, for the foreground thread to do.
    handed_back: Vec<Box<dyn FnOnce() + Send>>,
}

thread_local! {
    static IS_BACKGROUND: Cell<bool> = const { Cell::new(false) };
}

/// Returns true if the calling thread is a background thread, which leaves the processors to others.
pub(crate) fn is_background() -> bool {
    IS_BACKGROUND.get()
}

/// Makes the calling thread, which belongs to the recorder, a background thread. It stays on its processor, which the
/// system chose as the least busy one: a thread of low priority that moves to another processor interrupts the thread
/// there for milliseconds.
pub(crate) fn become_background() {
    IS_BACKGROUND.set(true);
    lower_priority();
    stay_on_this_processor();
}

/// Yields the processor if the calling thread is a background thread, which costs nearly nothing if no other thread is
/// waiting. Returns an error if a foreground thread takes over its work.
pub(crate) fn checkpoint() -> io::Result<()> {
    if is_cancelled() {
        return Err(io::Error::other("another thread writes the file"));
    }
    if is_background() {
        thread::yield_now();
    }
    Ok(())
}

/// Returns true if the calling thread is a background thread and a foreground thread takes over its work. An error of
/// the work is expected then.
pub(crate) fn is_cancelled() -> bool {
    is_background() && IS_CANCELLED.load(Ordering::Relaxed)
}

/// Hands `work` back to the foreground thread that takes over. Returns false if the calling thread is not cancelled.
pub(crate) fn hand_back(work: impl FnOnce() + Send + 'static) -> bool {
    let is_cancelled = is_cancelled();
    if is_cancelled {
        lock(&WRITERS).handed_back.push(Box::new(work));
    }
    is_cancelled
}

/// Starts a background thread, to which no signal is delivered. Returns `None` if the thread cannot be started.
pub(crate) fn spawn<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> Option<JoinHandle<T>> {
    let builder = thread::Builder::new().name(name.into());
    let work = move || {
        become_background();
        work()
    };
    os_thread::spawn(builder, work)
}

/// Runs `work` on a background thread for which the end of the process waits. If the thread cannot be started, runs it
/// on the calling thread.
pub(crate) fn write<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Writing<T> {
    write_announced(Announced::new(), work)
}

/// Like [`write`](write()), for work that was announced before.
pub(crate) fn write_announced<T: Send + 'static>(
    announced: Announced,
    work: impl FnOnce() -> T + Send + 'static,
) -> Writing<T> {
    // Shared, because the closure is lost if the thread cannot be started.
    let work = Arc::new(Mutex::new(Some(work)));
    let run = {
        let work = Arc::clone(&work);
        move || {
            let work = lock(&work).take();
            let result = work.map(|work| work());
            drop(announced);
            result
        }
    };
    match spawn("ferrum-trace-write", run) {
        Some(thread) => Writing::OnThread(thread),
        None => {
            let work = lock(&work).take();
            Writing::Done(work.map(|work| work()))
        }
    }
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
        lock(&WRITERS).n_active += 1;
        Self(())
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        let mut writers = lock(&WRITERS);
        writers.n_active = writers.n_active.saturating_sub(1);
        WRITER_ENDED.notify_all();
    }
}

/// Returns the number of background writes that are active.
pub(crate) fn n_active() -> usize {
    lock(&WRITERS).n_active
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
    let is_any_active = |writers: &mut Writers| writers.n_active > 0;
    drop(WRITER_ENDED.wait_timeout_while(writers, timeout, is_any_active));
}

/// In a forked child: forgets the background threads of the parent.
pub(crate) fn forget_in_child() {
    // If another thread of the parent held the lock at the fork, it is never released here.
    if let Ok(mut writers) = WRITERS.try_lock() {
        writers.n_active = 0;
        // Not dropped: the parent completes and drops them.
        std::mem::forget(std::mem::take(&mut writers.handed_back));
    }
    IS_CANCELLED.store(false, Ordering::Relaxed);
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
