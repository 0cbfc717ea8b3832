//! Thread operations that need system calls: number, name, signal mask, processor, priority.
#![allow(unsafe_code)]

use crate::os::memory::has_room;
use std::thread::{Builder, JoinHandle};
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

/// Calls `work` with the system's name of the calling thread, up to 15 bytes, or with an empty name if the system has
/// none. Bytes after the first that are not UTF-8 are left out.
pub(crate) fn with_name<T>(work: impl FnOnce(&str) -> T) -> T {
    #[cfg(target_os = "linux")]
    {
        let mut name = [0u8; 16];
        // SAFETY: the buffer has the 16 bytes that the call requires.
        unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        work(name.utf8_chunks().next().map_or("", |first| first.valid()))
    }
    #[cfg(not(target_os = "linux"))]
    work("")
}

/// Makes the calling thread call a function when it ends, after the destructors of its thread-local variables. The
/// function must be the same in all calls. Does not happen on the main thread if the process exits.
///
/// Unlike a destructor of a thread-local variable, this needs no memory, as long as the program has few keys of its
/// own: the C library has room for the values of the first 32 in each thread.
#[cfg(unix)]
pub(crate) fn call_at_end(work: unsafe extern "C" fn(*mut libc::c_void)) {
    if let Some(key) = end_key(work) {
        // SAFETY: the key is valid. Any value but null makes the system call the function.
        unsafe { libc::pthread_setspecific(key, std::ptr::without_provenance(1)) };
    }
}

/// Creates the key of [`call_at_end`] now. The sooner, the more likely it is one of the first.
#[cfg(unix)]
pub(crate) fn prepare_end(work: unsafe extern "C" fn(*mut libc::c_void)) {
    end_key(work);
}

#[cfg(unix)]
fn end_key(work: unsafe extern "C" fn(*mut libc::c_void)) -> Option<libc::pthread_key_t> {
    static KEY: std::sync::OnceLock<Option<libc::pthread_key_t>> = std::sync::OnceLock::new();
    *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: the place for the key is valid, and the function static.
        (unsafe { libc::pthread_key_create(&mut key, Some(work)) } == 0).then_some(key)
    })
}

/// Runs `work` with all signals blocked on this thread. A thread started in it inherits this, so that no handler of
/// the host runs, and records, on a thread of the recorder. Signals of the thread's own faults are the exception: the
/// system ends a process in which such a signal is blocked.
pub(crate) fn without_signals<T>(work: impl FnOnce() -> T) -> T {
    #[cfg(unix)]
    // SAFETY: both sets are valid; the mask of the calling thread is put back as it was.
    unsafe {
        let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&mut all);
        for fault in [libc::SIGBUS, libc::SIGSEGV, libc::SIGFPE, libc::SIGILL] {
            libc::sigdelset(&mut all, fault);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let result = work();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        result
    }
    #[cfg(not(unix))]
    work()
}

/// Room that a new thread must find: its stack and what the standard library and the C library allocate for it. They
/// abort the program if they cannot.
const THREAD_BYTES: usize = 8 << 20;

/// Starts a thread of the recorder, to which no signal is delivered. Returns `None` if it cannot be started.
pub(crate) fn spawn<T: Send + 'static>(
    builder: Builder,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<JoinHandle<T>> {
    if !has_room(THREAD_BYTES) {
        return None;
    }
    without_signals(|| builder.spawn(work)).ok()
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
