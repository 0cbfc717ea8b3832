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

/// Returns the user whose rights this process has for files.
#[cfg(unix)]
pub(crate) fn user() -> u32 {
    // SAFETY: takes no arguments and always succeeds.
    unsafe { libc::geteuid() }
}

/// Returns the permissions that new files do not get, or `None` if the system does not tell. On Linux, this reads the
/// value; `umask(2)` can only exchange it, and a file that another thread creates meanwhile would get other
/// permissions.
#[cfg(unix)]
pub(crate) fn umask() -> Option<u32> {
    #[cfg(target_os = "linux")]
    {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let umask = status.lines().find_map(|line| line.strip_prefix("Umask:"))?;
        u32::from_str_radix(umask.trim(), 8).ok()
    }
    #[cfg(not(target_os = "linux"))]
    {
        // SAFETY: both calls always succeed. A file that is created in between is private.
        let umask = unsafe {
            let before = libc::umask(0o077);
            libc::umask(before);
            before
        };
        Some(u32::from(umask))
    }
}

/// Returns true if the process has rights that the one who started it lacks: the program is set-user-id, set-group-id
/// or has capabilities of its own. The environment is not to be trusted then.
pub(crate) fn has_more_rights_than_its_caller() -> bool {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    // SAFETY: reads a number that the kernel gave the process at its start.
    unsafe {
        libc::getauxval(libc::AT_SECURE) != 0
    }
    #[cfg(any(target_vendor = "apple", target_os = "freebsd", target_os = "openbsd", target_os = "netbsd"))]
    // SAFETY: takes no arguments and always succeeds.
    unsafe {
        libc::issetugid() != 0
    }
    #[cfg(not(any(
        target_os = "linux",
        target_os = "android",
        target_vendor = "apple",
        target_os = "freebsd",
        target_os = "openbsd",
        target_os = "netbsd"
    )))]
    false
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
