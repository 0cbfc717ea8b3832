//! What only the system knows of a thread, and does with it.
#![allow(unsafe_code)]

/// The system's number of the calling thread; 0 where there is none.
pub fn id() -> u64 {
    #[cfg(target_os = "linux")]
    // SAFETY: no arguments, no effect.
    return unsafe { libc::gettid() } as u64;
    #[cfg(not(target_os = "linux"))]
    0
}

/// Whether the standard library has finished preparing the calling thread, and it may be asked for its handle. It sets the
/// name first, then the stack for signal handlers, and takes that away when the thread ends. Threads of others have none.
pub fn knows_its_name() -> bool {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: only asks; the place for the answer is valid, and zeros are a value of its type.
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

/// The system's name of the calling thread, of up to 15 bytes; empty where there is none.
pub fn name() -> String {
    #[cfg(target_os = "linux")]
    {
        let mut name = [0u8; 16];
        // SAFETY: the place is as long as the call wants it.
        unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
        let len = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
        String::from_utf8_lossy(&name[..len]).into_owned()
    }
    #[cfg(not(target_os = "linux"))]
    String::new()
}

/// Runs `work` with no signal delivered to this thread: a thread started in it never gets one, so that no handler of the
/// host runs, and records, on a thread of ours.
pub fn without_signals<T>(work: impl FnOnce() -> T) -> T {
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

/// Stays on the processor that the calling thread is on, and threads that it starts with it, so that others can keep away from there.
pub fn stay_on_this_processor() {
    #[cfg(target_os = "linux")]
    // SAFETY: only numbers are passed but for the set, which is valid for as long as the calls; the number of the processor is
    // checked against its size.
    unsafe {
        let mut processors: libc::cpu_set_t = std::mem::zeroed();
        let Ok(this) = usize::try_from(libc::sched_getcpu()) else { return };
        if this < libc::CPU_SETSIZE as usize {
            libc::CPU_SET(this, &mut processors);
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &processors);
        }
    }
}

/// Leaves the processors to other threads, where the system has priorities of single threads. Not `SCHED_IDLE`: a process that ends waits
/// for its files, and on a busy machine such a thread would hardly run.
pub fn lower_priority() {
    #[cfg(target_os = "linux")]
    // SAFETY: 0 is the calling thread; only numbers are passed.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, 19);
    }
}
