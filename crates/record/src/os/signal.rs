//! Signals that request a dump: the handler does next to nothing and wakes a thread of the recorder. Handlers that
//! other handlers replace.
#![allow(unsafe_code)]

use ferrum_trace_model::settings::Signal;
use std::io;

/// Signal numbers are below this.
#[cfg(target_os = "linux")]
const NUMBERS: usize = 65;

/// Calls `heard` on a thread of the recorder whenever the process receives the signal from now on. A handler that is
/// already installed is called too. Ours stays until the process ends: with the default handler restored, the next
/// signal would end the process. Must not be called concurrently; the `heard` of the first call is used for all
/// signals.
#[cfg(target_os = "linux")]
pub(crate) fn listen(signal: Signal, heard: fn(Signal)) -> io::Result<()> {
    linux::listen(signal, heard)
}

#[cfg(target_os = "linux")]
pub(super) use linux::{call_previous, replace_handler};

/// Not supported: other systems have no semaphore that a handler may use.
#[cfg(not(target_os = "linux"))]
pub fn listen(_signal: Signal, _heard: fn(Signal)) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(target_os = "linux")]
mod linux {
    use super::{NUMBERS, Signal};
    use crate::os::thread::spawn;
    use libc::{c_int, c_void, sem_t, siginfo_t};
    use std::cell::UnsafeCell;
    use std::io;
    use std::mem::MaybeUninit;
    use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering};
    use std::thread;

    /// Signals that were received and that the thread has not handled, one bit each.
    static CAME: AtomicU64 = AtomicU64::new(0);
    /// Wakes the thread.
    static WAKE: Semaphore = Semaphore(UnsafeCell::new(MaybeUninit::zeroed()));
    /// The process that the thread runs in: a forked child needs its own.
    static LISTENS_IN: AtomicU32 = AtomicU32::new(0);
    /// The actions that our handler replaced, by signal number.
    static BEFORE: [Before; NUMBERS] = [const { Before::new() }; NUMBERS];

    /// A semaphore of this process. A handler may post it; a forked child has a copy.
    struct Semaphore(UnsafeCell<MaybeUninit<sem_t>>);

    // SAFETY: after `begin` only semaphore functions access it, and several threads may call them at once.
    unsafe impl Sync for Semaphore {}

    impl Semaphore {
        /// Initializes the semaphore; must be called before any thread waits. In a forked child, a handler may post at
        /// the same time: that signal may be lost.
        fn begin(&self) -> io::Result<()> {
            // SAFETY: the memory is valid and static, and no thread waits on it.
            match unsafe { libc::sem_init(self.0.get().cast(), 0, 0) } {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        }

        fn post(&self) {
            // SAFETY: initialized before any handler was installed. It fails only after two billion unhandled posts.
            unsafe { libc::sem_post(self.0.get().cast()) };
        }

        /// Waits for a post. May return early.
        fn wait(&self) {
            // SAFETY: initialized before the waiting thread was started.
            unsafe { libc::sem_wait(self.0.get().cast()) };
        }
    }

    struct Before {
        /// Address of a function, or `SIG_DFL` or `SIG_IGN`.
        handler: AtomicUsize,
        flags: AtomicI32,
    }

    impl Before {
        const fn new() -> Self {
            Self { handler: AtomicUsize::new(libc::SIG_DFL), flags: AtomicI32::new(0) }
        }
    }

    pub(super) fn listen(signal: Signal, heard: fn(Signal)) -> io::Result<()> {
        start_thread(heard)?;
        replace_handler(signal.number(), on_signal)
    }

    fn start_thread(heard: fn(Signal)) -> io::Result<()> {
        let pid = std::process::id();
        if LISTENS_IN.load(Ordering::Relaxed) == pid {
            return Ok(());
        }
        WAKE.begin()?;
        CAME.store(0, Ordering::Relaxed);
        let listen = move || {
            loop {
                WAKE.wait();
                let came = CAME.swap(0, Ordering::Relaxed);
                for number in (1..NUMBERS as i32).filter(|number| came & bit(*number) != 0) {
                    // Handlers are installed only for signals that a program may use.
                    Signal::from_number(number).into_iter().for_each(heard);
                }
            }
        };
        let builder = thread::Builder::new().name("ferrum-trace-signal".into()).stack_size(128 * 1024);
        spawn(builder, listen).ok_or(io::ErrorKind::OutOfMemory)?;
        LISTENS_IN.store(pid, Ordering::Relaxed);
        Ok(())
    }

    fn bit(number: i32) -> u64 {
        1 << (number - 1)
    }

    /// A handler that gets details of the signal.
    pub(in crate::os) type Handler = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);

    /// Installs a handler, which calls the previous one with [`call_previous`] or the like. Does nothing if it is the
    /// current handler. It must do only what is allowed in a handler.
    pub(in crate::os) fn replace_handler(number: i32, handler: Handler) -> io::Result<()> {
        // SAFETY: zeros are a valid `sigaction`.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: no new action is given, so this only reads the current one.
        if unsafe { libc::sigaction(number, std::ptr::null(), &mut action) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let ours = handler as *const () as usize;
        if action.sa_sigaction == ours {
            return Ok(());
        }
        let before = &BEFORE[number as usize];
        before.handler.store(action.sa_sigaction, Ordering::Relaxed);
        before.flags.store(action.sa_flags, Ordering::Relaxed);
        if is_none(action.sa_sigaction) {
            action.sa_flags = libc::SA_RESTART;
        }
        // The host's handler keeps its mask, and still interrupts system calls if it did.
        action.sa_flags = (action.sa_flags | libc::SA_SIGINFO | libc::SA_ONSTACK) & !libc::SA_RESETHAND;
        action.sa_sigaction = ours;
        // SAFETY: the action is valid, and the handler static; callers guarantee that it does only what is allowed.
        match unsafe { libc::sigaction(number, &action, std::ptr::null_mut()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Our handler. It uses only atomics and a semaphore, and leaves `errno` as it was.
    extern "C" fn on_signal(number: c_int, info: *mut siginfo_t, context: *mut c_void) {
        // SAFETY: every thread has an `errno`.
        let errno = unsafe { libc::__errno_location() };
        // SAFETY: as above.
        let saved = unsafe { *errno };
        CAME.fetch_or(bit(number), Ordering::Relaxed);
        WAKE.post();
        // SAFETY: as above.
        unsafe { *errno = saved };
        pass_on(number, info, context);
    }

    /// Calls the handler that ours replaced.
    fn pass_on(number: c_int, info: *mut siginfo_t, context: *mut c_void) {
        let before = &BEFORE[number as usize];
        let handler = before.handler.load(Ordering::Relaxed);
        if is_none(handler) {
            return;
        }
        let handler = std::ptr::with_exposed_provenance::<()>(handler);
        if before.flags.load(Ordering::Relaxed) & libc::SA_SIGINFO != 0 {
            // SAFETY: the host installed it as a handler with these arguments.
            let handler: Handler = unsafe { std::mem::transmute(handler) };
            handler(number, info, context);
        } else {
            // SAFETY: the host installed it as a handler with this argument.
            let handler: extern "C" fn(c_int) = unsafe { std::mem::transmute(handler) };
            handler(number);
        }
    }

    /// Calls the handler that ours replaced, or does what the system would do if there was none: a fault that is not
    /// handled ends the process, also if the signal was ignored.
    pub(in crate::os) fn call_previous(number: c_int, info: *mut siginfo_t, context: *mut c_void) {
        let handler = BEFORE[number as usize].handler.load(Ordering::Relaxed);
        if !is_none(handler) {
            return pass_on(number, info, context);
        }
        // SAFETY: the kernel passes valid details.
        let is_fault = unsafe { (*info).si_code } > 0;
        if !is_fault && handler == libc::SIG_IGN {
            return;
        }
        // SAFETY: zeros are a valid `sigaction`, with the default action. A fault occurs again when the handler
        // returns; a signal that was sent is blocked until then.
        unsafe {
            let default: libc::sigaction = std::mem::zeroed();
            libc::sigaction(number, &default, std::ptr::null_mut());
            if !is_fault {
                libc::raise(number);
            }
        }
    }

    fn is_none(handler: usize) -> bool {
        [libc::SIG_DFL, libc::SIG_IGN].contains(&handler)
    }
}
