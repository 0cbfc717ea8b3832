//! Clocks, CPU time and memory from the operating system or the processor.
//!
//! The only file of this crate that calls C or reads the cycle counter, and so the only one with `unsafe`.
#![allow(unsafe_code, reason = "std has no clock by id, rusage or cycle counter")]

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::path::Path;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};

/// The cycle counter, unfenced: the cheapest clock, which the floor reads twice.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn cycles() -> u64 {
    // SAFETY: `rdtsc` reads a register and touches no memory; every x86_64 processor has it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// The best replacement on other processors: the monotonic clock.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(crate) fn cycles() -> u64 {
    monotonic_ns()
}

/// CPU time of the calling thread: with fewer cores than threads, the only cost that is the thread's own.
pub(crate) fn thread_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// The clock that a recorder's own is compared with.
#[inline]
pub(crate) fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// User and system time of all threads of this process, including ended ones.
pub(crate) fn process_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// Number of times that the calling thread has waited for something other than a processor.
pub(crate) fn thread_waits() -> u64 {
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the pointer is to a live `rusage`, which the call fills when it returns 0, checked below.
    let status = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    assert_eq!(status, 0, "cannot read the resource usage of the thread");
    // SAFETY: filled by the successful call above.
    let usage = unsafe { usage.assume_init() };
    usage.ru_nvcsw as u64
}

/// Cost of a process that has ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ChildCost {
    /// Exit code; -1 if a signal ended it.
    pub code: i32,
    /// Time since the call to [`wait`].
    pub wall_s: f64,
    /// User and system time of all its threads.
    pub cpu_s: f64,
    /// Highest resident memory.
    pub peak_bytes: u64,
}

/// Waits for a child that was just started.
pub(crate) fn wait(child: Child) -> io::Result<ChildCost> {
    let start = monotonic_ns();
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    let mut status = 0;
    let pid = child.id() as libc::pid_t;
    // SAFETY: both pointers are to live values; the call fills `usage` when it returns the id, checked below.
    if unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) } != pid {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: filled by the successful call above.
    let usage = unsafe { usage.assume_init() };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok(ChildCost {
        code: if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -1 },
        wall_s: (monotonic_ns() - start) as f64 / 1e9,
        cpu_s: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        peak_bytes: usage.ru_maxrss as u64 * 1024,
    })
}

/// Set by the first signal to stop.
static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Notes the first SIGINT (Ctrl-C) and the first SIGTERM for [`is_interrupted`]. A second one ends the process.
pub(crate) fn catch_interrupts() {
    extern "C" fn note(_signal: libc::c_int) {
        IS_INTERRUPTED.store(true, Ordering::Relaxed);
    }
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: all-zero bytes are a valid `sigaction`: no handler, no flags, an empty mask.
    let action = unsafe { action.assume_init_mut() };
    action.sa_sigaction = note as *const () as libc::sighandler_t;
    action.sa_flags = libc::SA_RESETHAND | libc::SA_RESTART;
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the action is complete and outlives the call; the handler only stores to an atomic.
        let status = unsafe { libc::sigaction(signal, action, std::ptr::null_mut()) };
        assert_eq!(status, 0, "cannot handle signal {signal}");
    }
}

/// Returns true after a signal that [`catch_interrupts`] notes.
pub(crate) fn is_interrupted() -> bool {
    IS_INTERRUPTED.load(Ordering::Relaxed)
}

/// Resident memory now, from `/proc/self/status`.
pub(crate) fn resident_bytes() -> u64 {
    status_bytes("VmRSS:")
}

/// The highest resident memory so far.
pub(crate) fn peak_resident_bytes() -> u64 {
    status_bytes("VmHWM:")
}

/// The type of the file system of `path`: first-touch faults of a mapped file cost more on some than on others.
pub(crate) fn file_system(path: &Path) -> &'static str {
    let Ok(path) = CString::new(path.as_os_str().as_encoded_bytes()) else { return "?" };
    let mut found = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: both pointers are to live values, the path is terminated; the call fills `found` when it returns 0.
    if unsafe { libc::statfs(path.as_ptr(), found.as_mut_ptr()) } != 0 {
        return "?";
    }
    // SAFETY: filled by the successful call above.
    match unsafe { found.assume_init() }.f_type {
        libc::EXT4_SUPER_MAGIC => "ext4",
        libc::TMPFS_MAGIC => "tmpfs",
        libc::XFS_SUPER_MAGIC => "xfs",
        libc::BTRFS_SUPER_MAGIC => "btrfs",
        libc::OVERLAYFS_SUPER_MAGIC => "overlayfs",
        _ => "other",
    }
}

/// Lets every user write to a folder.
pub(crate) fn let_all_write(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o777))
}

/// Makes the calling thread, and threads that it starts later, those of a user without privileges. In Linux, users are
/// a property of threads; the C library's functions would change all of them.
pub(crate) fn drop_privileges_of_thread() -> io::Result<()> {
    const NOBODY: libc::c_long = 65534;
    for call in [libc::SYS_setresgid, libc::SYS_setresuid] {
        // SAFETY: only numbers are passed.
        if unsafe { libc::syscall(call, NOBODY, NOBODY, NOBODY) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Ends the process without destructors or exit handlers: a child that has printed its result needs no file.
pub(crate) fn exit_now() -> ! {
    // SAFETY: `_exit` never returns; buffers and exit handlers are skipped on purpose.
    unsafe { libc::_exit(0) }
}

#[inline]
fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the pointer is to a live `timespec`, which the call fills when it returns 0, checked below.
    let status = unsafe { libc::clock_gettime(clock, time.as_mut_ptr()) };
    assert_eq!(status, 0, "cannot read the clock {clock}");
    // SAFETY: filled by the successful call above.
    let time = unsafe { time.assume_init() };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn status_bytes(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix(key))
        .and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok())
        .map_or(0, |kibibytes| kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sigterm_is_noted() {
        catch_interrupts();
        // SAFETY: `raise` has no preconditions; the handler only stores to an atomic.
        assert_eq!(unsafe { libc::raise(libc::SIGTERM) }, 0);
        assert!(is_interrupted());
    }
}
