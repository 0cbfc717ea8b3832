//! System calls of the scenes: every `unsafe` of this program is here.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub(crate) use libc::{SIGBUS, SIGPROF, SIGTRAP, SIGUSR1, SIGUSR2, pthread_t};
use libc::{SIGKILL, SIGURG};

/// Time limit for a child process in milliseconds.
const TIMEOUT_MILLIS: u32 = 10_000;

/// Counters in a file that other processes can read at any time, also after this process was killed.
#[derive(Clone, Copy)]
pub(crate) struct SharedCounters {
    slots: &'static [Slot],
}

/// One counter, on a cache line of its own.
#[repr(align(64))]
pub(crate) struct Slot(AtomicU64);

/// Gives up the privileges of root, if this process has them.
pub(crate) fn become_unprivileged() {
    const NOBODY: u32 = 65534;
    // SAFETY: only numbers are passed.
    let is_done = unsafe { libc::geteuid() != 0 || libc::setgid(NOBODY) == 0 && libc::setuid(NOBODY) == 0 };
    assert!(is_done, "{}", io::Error::last_os_error());
}

impl SharedCounters {
    /// Creates the file with `n` zeros. It stays mapped until the process ends.
    pub(crate) fn create(path: &Path, n: usize) -> Self {
        let n_bytes = n * size_of::<Slot>();
        let file = File::options().read(true).write(true).create(true).truncate(true).open(path).unwrap();
        file.set_len(n_bytes as u64).unwrap();
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping of a file of that size; the result is checked below.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), n_bytes, protection, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        assert_ne!(start, libc::MAP_FAILED, "{}", io::Error::last_os_error());
        // SAFETY: the mapping holds `n` slots, is aligned to a page, is used through atomics only and never unmapped.
        let slots = unsafe { std::slice::from_raw_parts(start as *const Slot, n) };
        Self { slots }
    }

    /// Value of a counter.
    pub(crate) fn get(&self, slot: usize) -> u64 {
        self.slots[slot].0.load(Ordering::SeqCst)
    }

    /// Sets a counter, after all earlier effects of the program.
    pub(crate) fn set(&self, slot: usize, value: u64) {
        self.slots[slot].0.store(value, Ordering::Release);
    }

    /// Adds one to a counter.
    pub(crate) fn add_one(&self, slot: usize) {
        self.slots[slot].0.fetch_add(1, Ordering::SeqCst);
    }

    /// Values of all counters.
    pub(crate) fn all(&self) -> Vec<u64> {
        (0..self.slots.len()).map(|slot| self.get(slot)).collect()
    }
}

/// Registers a function that is called when the process exits.
pub(crate) fn at_exit(handler: extern "C" fn()) {
    // SAFETY: the function is static and takes no arguments.
    assert_eq!(unsafe { libc::atexit(handler) }, 0);
}

/// Ends the process with all handlers of `atexit`, as C programs do. The standard library's `exit` takes a lock that
/// its threads take when they start and end: a child that was forked at such a moment would hang in it, with or without
/// recording.
pub(crate) fn exit_as_in_c(code: i32) -> ! {
    // SAFETY: does not return; the scenes call it on one thread only.
    unsafe { libc::exit(code) }
}

/// Ends the process immediately: no handlers of `atexit`, no destructors.
pub(crate) fn exit_at_once(code: i32) -> ! {
    // SAFETY: does not return.
    unsafe { libc::_exit(code) }
}

/// Allocates and frees memory of the C library.
pub(crate) fn allocate_and_free(n_bytes: usize) {
    // SAFETY: the memory is freed once, and not used.
    unsafe { libc::free(libc::malloc(n_bytes)) };
}

/// Reads an unmapped address.
pub(crate) fn read_nowhere() {
    // SAFETY: none, since this must be a real fault. Volatile, so that the compiler keeps it.
    unsafe { std::ptr::read_volatile(std::ptr::without_provenance::<u64>(8)) };
}

/// The process after a fork.
pub(crate) enum Fork {
    Child,
    Parent { child: i32 },
}

/// Forks this process.
pub(crate) fn fork() -> Fork {
    // SAFETY: the tests check that the child can do more than system calls after the fork: the C library keeps its
    // allocator usable, and the scenes use no lock that another thread may hold.
    match unsafe { libc::fork() } {
        0 => Fork::Child,
        child if child > 0 => Fork::Parent { child },
        _ => panic!("cannot fork: {}", io::Error::last_os_error()),
    }
}

/// The way a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Code(i32),
    Signal(i32),
    /// It did not end in time, and was killed.
    Hung,
}

/// Waits for a child to end, and kills it after the time limit.
pub(crate) fn wait_for(child: i32) -> Ending {
    let mut status = 0;
    for _ in 0..TIMEOUT_MILLIS {
        // SAFETY: `status` is a valid place for the result.
        match unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) } {
            0 => std::thread::sleep(Duration::from_millis(1)),
            pid if pid == child => {
                return match libc::WIFEXITED(status) {
                    true => Ending::Code(libc::WEXITSTATUS(status)),
                    false => Ending::Signal(libc::WTERMSIG(status)),
                };
            }
            _ => {
                let error = io::Error::last_os_error();
                assert_eq!(error.kind(), io::ErrorKind::Interrupted, "cannot wait for {child}: {error}");
            }
        }
    }
    send_to_process(child, SIGKILL);
    // SAFETY: as above; a killed process ends.
    unsafe { libc::waitpid(child, &mut status, 0) };
    Ending::Hung
}

/// Sends a signal to a process.
pub(crate) fn send_to_process(pid: i32, signal: i32) {
    // SAFETY: the process is a child that was not waited for, or this one.
    assert_eq!(unsafe { libc::kill(pid, signal) }, 0);
}

/// Handle of the calling thread, to send signals to.
pub(crate) fn this_thread() -> pthread_t {
    // SAFETY: no arguments, no effect.
    unsafe { libc::pthread_self() }
}

/// Sends a signal to a thread, which the caller has not joined yet.
pub(crate) fn send_to_thread(thread: pthread_t, signal: i32) {
    // SAFETY: the thread exists until it is joined; the C library detects that it has ended.
    unsafe { libc::pthread_kill(thread, signal) };
}

/// Installs a handler, which is called on the thread that a signal interrupts.
pub(crate) fn on_signal(signal: i32, handler: extern "C" fn(i32)) {
    // SAFETY: zeros are a valid `sigaction`: an empty mask and no flags.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as *const () as usize;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the action is valid, and the handler static.
    assert_eq!(unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) }, 0);
}

/// Installs a handler that gets details of the signal.
pub(crate) fn on_signal_with_info(signal: i32, handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void)) {
    // SAFETY: zeros are a valid `sigaction`: an empty mask and no flags.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as *const () as usize;
    action.sa_flags = libc::SA_RESTART | libc::SA_SIGINFO;
    // SAFETY: the action is valid, and the handler static.
    assert_eq!(unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) }, 0);
}

/// Handler address and flags of each signal that a program may handle.
pub(crate) fn dispositions() -> Vec<(i32, usize, i32)> {
    let ask = |signal| {
        // SAFETY: zeros are a valid `sigaction`, which the call fills.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: a null action only queries.
        let known = unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) } == 0;
        known.then_some((signal, action.sa_sigaction, action.sa_flags))
    };
    (1..=libc::SIGRTMAX()).filter_map(ask).collect()
}

/// Signals that the calling thread blocks.
pub(crate) fn blocked_signals() -> Vec<i32> {
    // SAFETY: zeros are a valid set, which the call fills; a null set only queries.
    let mut blocked: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    assert_eq!(unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &mut blocked) }, 0);
    // SAFETY: the set was filled above.
    (1..=libc::SIGRTMAX()).filter(|&signal| unsafe { libc::sigismember(&blocked, signal) } == 1).collect()
}

/// Sends SIGPROF to the process at this interval of CPU time.
pub(crate) fn set_profiling_timer(every: Duration) {
    let micros = libc::suseconds_t::from(every.subsec_micros());
    let every = libc::timeval { tv_sec: 0, tv_usec: micros };
    let timer = libc::itimerval { it_interval: every, it_value: every };
    // SAFETY: the timer is valid; the old value is not requested.
    assert_eq!(unsafe { libc::setitimer(libc::ITIMER_PROF, &timer, std::ptr::null_mut()) }, 0);
}

/// Terminates the process with a signal after this time, in case it hangs.
pub(crate) fn set_alarm(seconds: u32) {
    // SAFETY: only sets a timer of the process, whose signal has no handler.
    unsafe { libc::alarm(seconds) };
}

/// Traps before every instruction of `work`, except in system calls, so that the handler of SIGTRAP runs. Returns false
/// if that is not supported on this processor; then `work` runs without traps.
pub(crate) fn step_through(work: impl FnOnce()) -> bool {
    set_trap_flag(true);
    work();
    set_trap_flag(false);
    cfg!(target_arch = "x86_64")
}

/// Switches the trap before every instruction of this thread on or off.
#[inline(never)]
pub(crate) fn set_trap_flag(on: bool) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: changes one bit of the flags, on which the kernel sends SIGTRAP; the stack is balanced.
    unsafe {
        match on {
            true => std::arch::asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq"),
            false => std::arch::asm!("pushfq", "and qword ptr [rsp], -0x101", "popfq"),
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = on;
}

/// Blocks every process that opens the file until this is dropped.
pub(crate) struct Lease(File);

impl Lease {
    /// Takes the lease.
    pub(crate) fn take(file: File) -> Self {
        /// The same value on all Linux architectures; the `libc` crate lacks it.
        const F_SETSIG: libc::c_int = 10;
        // SAFETY: our own descriptor; SIGURG, the notification of a blocked open, is ignored by default.
        let taken = unsafe {
            libc::fcntl(file.as_raw_fd(), F_SETSIG, SIGURG) == 0
                && libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_WRLCK) == 0
        };
        assert!(taken, "{}", io::Error::last_os_error());
        Self(file)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // SAFETY: releases the lease that `take` took.
        unsafe { libc::fcntl(self.0.as_raw_fd(), libc::F_SETLEASE, libc::F_UNLCK) };
    }
}

/// Effective user and group of this process.
pub(crate) fn effective_ids() -> (u32, u32) {
    // SAFETY: both calls take no arguments and always succeed.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// Lets every user read and write a file, whatever the umask is.
pub(crate) fn allow_everyone(file: &File) {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o666)).unwrap();
}

/// Sets the soft limit of a resource. The hard limit stays, so that it can be raised again.
fn set_limit(resource: libc::__rlimit_resource_t, limit: Option<u64>) {
    let mut limits = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the place for the result is valid.
    assert_eq!(unsafe { libc::getrlimit(resource, &mut limits) }, 0);
    limits.rlim_cur = limit.unwrap_or(limits.rlim_max);
    // SAFETY: the limits are valid.
    assert_eq!(unsafe { libc::setrlimit(resource, &limits) }, 0, "{}", io::Error::last_os_error());
}

/// Limits the size of files that this process writes, or removes the limit.
pub(crate) fn set_file_size_limit(n_bytes: Option<u64>) {
    set_limit(libc::RLIMIT_FSIZE, n_bytes);
}

/// Limits the address space to its present size and this many bytes, or removes the limit.
pub(crate) fn set_address_space_limit(n_bytes_more: Option<u64>) {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    let n_pages: u64 = status.split(' ').next().unwrap().parse().unwrap();
    set_limit(libc::RLIMIT_AS, n_bytes_more.map(|more| n_pages * 4096 + more));
}
