//! The process's limit on the size of files, `RLIMIT_FSIZE`.
//!
//! A write beyond the limit fails and raises `SIGXFSZ`, which ends a process that does not expect it. The signal goes
//! to the thread that wrote, so it is blocked there during the write, and taken back afterwards. The disposition of
//! the signal, which belongs to the program, is never changed.
#![allow(unsafe_code)]

/// Returns the maximum size of a file in bytes.
pub(crate) fn limit() -> u64 {
    #[cfg(target_os = "linux")]
    {
        let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
        // SAFETY: the place for the result is valid.
        unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) };
        // `RLIM_INFINITY` is the largest number.
        limit.rlim_cur
    }
    #[cfg(not(target_os = "linux"))]
    u64::MAX
}

/// Calls `write`, in which a write beyond the limit is an error and no signal, also if the limit changes meanwhile.
/// Threads that `write` starts are protected too, since they inherit the signal mask. May be called in signal handlers.
pub(crate) fn without_signal<T>(write: impl FnOnce() -> T) -> T {
    #[cfg(target_os = "linux")]
    let _blocked = Blocked::new();
    write()
}

/// Blocks `SIGXFSZ` on the calling thread until it is dropped.
#[cfg(target_os = "linux")]
struct Blocked {
    /// The signal mask of the thread.
    before: libc::sigset_t,
    /// True if the signal was pending already, so that it is not ours to take.
    was_pending: bool,
}

#[cfg(target_os = "linux")]
impl Blocked {
    fn new() -> Self {
        let signal = signal_alone();
        // SAFETY: zeros are a valid set.
        let mut before: libc::sigset_t = unsafe { std::mem::zeroed() };
        // SAFETY: both sets are valid; only this thread's mask changes.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &signal, &mut before) };
        Self { before, was_pending: is_pending() }
    }
}

#[cfg(target_os = "linux")]
impl Drop for Blocked {
    fn drop(&mut self) {
        if !self.was_pending && is_pending() {
            let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: the set and the time are valid; details of the signal are not requested.
            unsafe { libc::sigtimedwait(&signal_alone(), std::ptr::null_mut(), &at_once) };
        }
        // SAFETY: the mask is the one that this thread had.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut()) };
    }
}

#[cfg(target_os = "linux")]
fn signal_alone() -> libc::sigset_t {
    // SAFETY: zeros are a valid set, which the calls change.
    unsafe {
        let mut signal: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut signal);
        libc::sigaddset(&mut signal, libc::SIGXFSZ);
        signal
    }
}

#[cfg(target_os = "linux")]
fn is_pending() -> bool {
    // SAFETY: zeros are a valid set, which the first call fills.
    unsafe {
        let mut pending: libc::sigset_t = std::mem::zeroed();
        libc::sigpending(&mut pending);
        libc::sigismember(&pending, libc::SIGXFSZ) == 1
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn raise() {
        // SAFETY: sends a signal to this thread, which blocks it.
        unsafe { libc::raise(libc::SIGXFSZ) };
    }

    fn blocks_it() -> bool {
        // SAFETY: a null set only queries; zeros are a valid set, which the call fills.
        unsafe {
            let mut mask: libc::sigset_t = std::mem::zeroed();
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &mut mask);
            libc::sigismember(&mask, libc::SIGXFSZ) == 1
        }
    }

    #[test]
    fn a_signal_of_a_write_is_taken_back_and_one_that_was_pending_before_stays() {
        // Without the block, the signal would end this process.
        without_signal(raise);
        assert!(!is_pending() && !blocks_it());
        without_signal(|| {
            raise();
            without_signal(raise);
            assert!(is_pending() && blocks_it());
        });
        assert!(!is_pending() && !blocks_it());
    }
}
