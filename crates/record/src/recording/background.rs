//! Threads that write files while the program goes on, and must not disturb it.

use crate::os::clock;
use crate::os::process::is_ending;
use crate::os::thread::{lower_priority, stay_on_this_processor, without_signals};
use crate::util::lock::lock;
use std::cell::Cell;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

static WRITERS: Mutex<Writers> = Mutex::new(Writers { n_active: 0, handed_back: Vec::new() });
static WRITER_ENDED: Condvar = Condvar::new();
/// Set when somebody waits for the writers, and does their work himself.
static IS_CANCELLED: AtomicBool = AtomicBool::new(false);
/// How long somebody waits for writers before that. On a machine whose processors are all busy, they hardly get any time; on others, most
/// are done by then.
const CANCEL_AFTER: Duration = Duration::from_secs(1);

struct Writers {
    n_active: usize,
    /// Work of writers that have given up, for the thread that waits for them.
    handed_back: Vec<Box<dyn FnOnce() + Send>>,
}

thread_local! {
    static IS_BACKGROUND: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread is one of those, and should leave the processors to others.
pub fn is_background() -> bool {
    IS_BACKGROUND.get()
}

/// Has a thread of ours leave the processors to others from now on. The system put it where there was least to do; there it stays, since a
/// thread of low priority that comes to another processor still takes it from whoever is there for milliseconds.
pub fn become_background() {
    IS_BACKGROUND.set(true);
    lower_priority();
    stay_on_this_processor();
}

/// Offers the processor to others that want it, if the calling thread works in the background. Costs nearly nothing if there are none. An
/// error if somebody waits for what it does, and does it himself.
pub fn checkpoint() -> io::Result<()> {
    if is_cancelled() {
        return Err(io::Error::other("another thread writes the file"));
    }
    if is_background() {
        thread::yield_now();
    }
    Ok(())
}

/// Whether the calling thread works in the background and should have ended, so that what it could not do is no failure.
pub fn is_cancelled() -> bool {
    is_background() && IS_CANCELLED.load(Ordering::Relaxed)
}

/// Leaves `work` to the thread that has taken over from the calling one. Returns false if none has.
pub fn hand_back(work: impl FnOnce() + Send + 'static) -> bool {
    let is_cancelled = is_cancelled();
    if is_cancelled {
        lock(&WRITERS).handed_back.push(Box::new(work));
    }
    is_cancelled
}

/// Starts a thread of the lowest priority that no signal is delivered to. `None` if there is none to be had.
pub fn spawn<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> Option<JoinHandle<T>> {
    let builder = thread::Builder::new().name(name.into());
    let work = move || {
        become_background();
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

/// Something that is being written.
#[derive(Debug)]
pub enum Writing<T> {
    OnThread(JoinHandle<Option<T>>),
    Done(Option<T>),
}

impl<T> Writing<T> {
    /// Waits for what came of it. `None` if it panicked.
    pub fn wait(self) -> Option<T> {
        match self {
            Self::OnThread(thread) => thread.join().ok().flatten(),
            Self::Done(result) => result,
        }
    }
}

/// Counts a writer in that will begin soon, and out when it has ended or never began.
pub struct Announced(());

impl Announced {
    pub fn new() -> Self {
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

/// How many files are being written.
pub fn n_active() -> usize {
    lock(&WRITERS).n_active
}

/// Returns when all files are written, those by the calling thread that writers of low priority do not finish soon.
pub fn finish_all() {
    if !IS_CANCELLED.load(Ordering::Relaxed) {
        wait_for_writers(CANCEL_AFTER);
        IS_CANCELLED.store(true, Ordering::Relaxed);
    }
    wait_for_writers(Duration::MAX);
    let handed_back = std::mem::take(&mut lock(&WRITERS).handed_back);
    handed_back.into_iter().for_each(|work| work());
    // If the process ends, nobody is to begin at low priority.
    if !is_ending() {
        IS_CANCELLED.store(false, Ordering::Relaxed);
    }
}

fn wait_for_writers(timeout: Duration) {
    let writers = lock(&WRITERS);
    let is_any_active = |writers: &mut Writers| writers.n_active > 0;
    drop(WRITER_ENDED.wait_timeout_while(writers, timeout, is_any_active));
}

/// In a forked child, which has none of its parent's threads.
pub fn forget_in_child() {
    // Another thread of the parent may have had the lock: then it is of no use to anybody here.
    if let Ok(mut writers) = WRITERS.try_lock() {
        writers.n_active = 0;
        // They are the parent's to complete and to let go of.
        std::mem::forget(std::mem::take(&mut writers.handed_back));
    }
    IS_CANCELLED.store(false, Ordering::Relaxed);
}

/// Sleeps until a moment of the monotonic clock, as long as `is_needed`.
pub fn sleep_until(nanos: u64, is_needed: impl Fn() -> bool) {
    const NAP: Duration = Duration::from_millis(200);
    while is_needed() {
        let left = Duration::from_nanos(nanos.saturating_sub(clock::monotonic_nanos()));
        if left.is_zero() {
            return;
        }
        thread::sleep(left.min(NAP));
    }
}
