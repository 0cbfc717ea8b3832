//! State of the process that every layer may ask for, and registration of fork and exit handlers.
#![allow(unsafe_code)]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Number of forks between the process that was started and this one.
static FORKS: AtomicU64 = AtomicU64::new(0);
/// Set when the process ends.
static IS_ENDING: AtomicBool = AtomicBool::new(false);

/// Returns a number that differs between a process and its forked children.
pub(crate) fn fork_generation() -> u64 {
    FORKS.load(Ordering::Relaxed)
}

/// Counts a fork, in the child.
pub(crate) fn count_fork() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Returns true if the process is about to end and waits for files to be written.
pub(crate) fn is_ending() -> bool {
    IS_ENDING.load(Ordering::Relaxed)
}

/// Marks the process as ending.
pub(crate) fn set_ending() {
    IS_ENDING.store(true, Ordering::Relaxed);
}

/// Work of a higher layer to do at exit, after all files are complete.
static AT_EXIT: OnceLock<fn()> = OnceLock::new();

/// Sets the function that [`run_at_exit`] calls. Later calls change nothing.
#[cfg(all(feature = "http", unix))]
pub(crate) fn set_at_exit(work: fn()) {
    AT_EXIT.get_or_init(|| work);
}

/// Does the work set by a higher layer, if any.
pub(crate) fn run_at_exit() {
    if let Some(work) = AT_EXIT.get() {
        work();
    }
}

/// Registers functions that the C library calls around each fork of this process.
pub(crate) fn call_around_forks(
    before: extern "C" fn(),
    after_in_parent: extern "C" fn(),
    after_in_child: extern "C" fn(),
) {
    #[cfg(unix)]
    // SAFETY: the functions are static and take no arguments.
    unsafe {
        libc::pthread_atfork(Some(before), Some(after_in_parent), Some(after_in_child));
    }
    #[cfg(not(unix))]
    let _ = (before, after_in_parent, after_in_child);
}

/// Registers a function that the C library calls at exit.
#[cfg(not(target_os = "linux"))]
pub fn call_at_exit(handler: extern "C" fn()) {
    unsafe extern "C" {
        fn atexit(handler: extern "C" fn()) -> std::ffi::c_int;
    }
    // SAFETY: the function is static and takes no arguments.
    unsafe {
        atexit(handler);
    }
}
