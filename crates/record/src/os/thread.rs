//! Thread operations that need system calls: number, name, signal mask, processor, priority.
#![allow(unsafe_code)]

use std::time::Duration;

/// Returns the system's number of the calling thread, or 0 if the system has none.
pub(crate) fn id() -> u64 {
    #[cfg(target_os = "linux")]
    // SAFETY: no arguments, no effect.
    return unsafe { libc::gettid() } as u64;
    #[cfg(not(target_os = "linux"))]
    0
}

/// Returns true if the standard library has finished setting up the calling thread, so that its handle may be
/// requested. It sets the name first, then the stack for signal handlers, and removes that stack when the thread ends.
/// Threads that were not started by the standard library have no such stack.
pub(crate) fn knows_its_name() -> bool {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: only reads; the result pointer is valid, and zeros are a valid value of its type.
        let stack = unsafe {
            let mut stack: libc::stack_t = std::mem::zeroed();
            libc::sigaltstack(std::ptr::null(), &mut stack);
            stack
        };
        stack.ss_flags & libc::SS_DISABLE == 0 && !stack.ss_sp.is_null()
    }
    #[cfg(not(target_os = "linux"))]
    true
}

/// Returns the system's name of the calling thread, up to 15 bytes, or an empty name if the system has none.
pub(crate) fn name() -> String {
    #[cfg(target_os = "linux")]
    {
        let mut name = [0u8; 16];
        // SAFETY: the buffer has the 16 bytes that the call requires.
        unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
        let len = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
        String::from_utf8_lossy(&name[..len]).into_owned()
    }
    #[cfg(not(target_os = "linux"))]
    String::new()
}

/// Runs `work` with all signals blocked on this thread. A thread started in it inherits this, so that no handler of the
/// host runs, and records, on a thread of the recorder.
pub(crate) fn without_signals<T>(work: impl FnOnce() -> T) -> T {
    #[cfg(unix)]
    // SAFETY: both sets are valid; the mask of the calling thread is put back as it was.
    unsafe {
        let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let result = work();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        result
    }
    #[cfg(not(unix))]
    work()
}

/// Pins the calling thread, and threads it starts later, to its current processor, so that others can avoid that
/// processor.
pub(crate) fn stay_on_this_processor() {
    #[cfg(target_os = "linux")]
    // SAFETY: only numbers are passed, and the set, which is valid during the calls; the processor's number is checked
    // against the size of the set.
    unsafe {
        let mut processors: libc::cpu_set_t = std::mem::zeroed();
        let Ok(this) = usize::try_from(libc::sched_getcpu()) else { return };
        if this < libc::CPU_SETSIZE as usize {
            libc::CPU_SET(this, &mut processors);
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &processors);
        }
    }
}

/// True if the system has priorities per thread.
pub(crate) const HAS_PRIORITIES: bool = cfg!(target_os = "linux");

/// Lowers the priority of the calling thread for good, where the system has priorities per thread: raising it again
/// takes a privilege, in Linux also for a thread that only leaves `SCHED_IDLE`.
pub(crate) fn lower_priority() {
    #[cfg(target_os = "linux")]
    // SAFETY: 0 is the calling thread; only numbers are passed.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, 19);
    }
}

/// Returns the time that a thread of this process has run, and the time that it was ready to run and waited for a
/// processor, or `None` if the system does not tell.
pub(crate) fn times_of(id: u64) -> Option<(Duration, Duration)> {
    #[cfg(target_os = "linux")]
    {
        let text = std::fs::read_to_string(format!("/proc/self/task/{id}/schedstat")).ok()?;
        let mut nanos = text.split_ascii_whitespace().map_while(|word| word.parse().ok()).map(Duration::from_nanos);
        // A kernel without these statistics writes zeros.
        nanos.next().filter(|ran| !ran.is_zero()).zip(nanos.next())
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = id;
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_a_thread_grow_while_it_runs() {
        let times = || times_of(id());
        let Some((before, _)) = times() else { return };
        let has_grown = || times().is_some_and(|(ran, _)| ran > before);
        while !has_grown() {
            std::hint::spin_loop();
        }
        assert_eq!(times_of(u64::MAX), None);
    }
}
