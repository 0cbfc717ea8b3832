//! A signal that asks for something: a handler that does next to nothing wakes a thread of ours.
#![allow(unsafe_code)]

use ferrum_trace_model::settings::Signal;
use std::io;

/// Numbers of signals are below this.
#[cfg(target_os = "linux")]
const NUMBERS: usize = 65;

/// Has `heard` called, on a thread of ours, whenever the process gets the signal from now on. A handler that is there is called too.
/// The handler stays until the process ends: to put back the default would have the next signal end the process. One caller at a
/// time; `heard` is that of the first.
#[cfg(target_os = "linux")]
pub fn listen(signal: Signal, heard: fn(Signal)) -> io::Result<()> {
    linux::listen(signal, heard)
}

/// Elsewhere there is no semaphore that a handler may use.
#[cfg(not(target_os = "linux"))]
pub fn listen(_signal: Signal, _heard: fn(Signal)) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(target_os = "linux")]
mod linux {
    use super::{NUMBERS, Signal};
    use crate::os::thread::without_signals;
    use libc::{c_int, c_void, sem_t, siginfo_t};
    use std::cell::UnsafeCell;
    use std::io;
    use std::mem::MaybeUninit;
    use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering};
    use std::thread;

    /// The signals that came and that the thread has not seen, a bit each.
    static CAME: AtomicU64 = AtomicU64::new(0);
    /// What the thread waits for.
    static WAKE: Semaphore = Semaphore(UnsafeCell::new(MaybeUninit::zeroed()));
    /// The process that the thread runs in: a forked child needs its own.
    static LISTENS_IN: AtomicU32 = AtomicU32::new(0);
    /// What was there before our handler, by the number of the signal.
    static BEFORE: [Before; NUMBERS] = [const { Before::new() }; NUMBERS];

    /// A semaphore of this process: a handler may post it, and a forked child has a copy.
    struct Semaphore(UnsafeCell<MaybeUninit<sem_t>>);

    // SAFETY: after `begin` it is used by the calls for semaphores only, which several threads may do at once.
    unsafe impl Sync for Semaphore {}

    impl Semaphore {
        /// To be called before anybody waits. In a forked child, a handler may post at the same time: that signal may be missed.
        fn begin(&self) -> io::Result<()> {
            // SAFETY: the place is valid and static, and nobody waits for it.
            match unsafe { libc::sem_init(self.0.get().cast(), 0, 0) } {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        }

        fn post(&self) {
            // SAFETY: begun before any handler was installed. It fails only if it has been posted two billion times.
            unsafe { libc::sem_post(self.0.get().cast()) };
        }

        /// May come back too early.
        fn wait(&self) {
            // SAFETY: begun before the thread that waits was started.
            unsafe { libc::sem_wait(self.0.get().cast()) };
        }
    }

    struct Before {
        /// The address of a function, or one of the numbers that stand for none.
        handler: AtomicUsize,
        flags: AtomicI32,
    }

    impl Before {
        const fn new() -> Self {
            Self { handler: AtomicUsize::new(libc::SIG_DFL), flags: AtomicI32::new(0) }
        }
    }

    pub fn listen(signal: Signal, heard: fn(Signal)) -> io::Result<()> {
        start_thread(heard)?;
        install(signal.number())
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
                    // Only those are installed that a program may use.
                    Signal::from_number(number).into_iter().for_each(heard);
                }
            }
        };
        let builder = thread::Builder::new().name("ferrum-trace-signal".into()).stack_size(128 * 1024);
        without_signals(|| builder.spawn(listen))?;
        LISTENS_IN.store(pid, Ordering::Relaxed);
        Ok(())
    }

    fn bit(number: i32) -> u64 {
        1 << (number - 1)
    }

    fn install(number: i32) -> io::Result<()> {
        // SAFETY: zeros are a valid `sigaction`.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: no new action, so this only asks what there is.
        if unsafe { libc::sigaction(number, std::ptr::null(), &mut action) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let ours = on_signal as *const () as usize;
        if action.sa_sigaction == ours {
            return Ok(());
        }
        let before = &BEFORE[number as usize];
        before.handler.store(action.sa_sigaction, Ordering::Relaxed);
        before.flags.store(action.sa_flags, Ordering::Relaxed);
        if is_none(action.sa_sigaction) {
            action.sa_flags = libc::SA_RESTART;
        }
        // The host's handler keeps its mask, and whether it interrupts system calls.
        action.sa_flags = (action.sa_flags | libc::SA_SIGINFO | libc::SA_ONSTACK) & !libc::SA_RESETHAND;
        action.sa_sigaction = ours;
        // SAFETY: the action is valid, and the handler static; it does nothing that a handler may not do.
        match unsafe { libc::sigaction(number, &action, std::ptr::null_mut()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Ours. Only atomics and a semaphore, which leaves `errno` as it was.
    extern "C" fn on_signal(number: c_int, info: *mut siginfo_t, context: *mut c_void) {
        // SAFETY: every thread has an `errno`.
        let errno = unsafe { libc::__errno_location() };
        // SAFETY: as above.
        let kept = unsafe { *errno };
        CAME.fetch_or(bit(number), Ordering::Relaxed);
        WAKE.post();
        // SAFETY: as above.
        unsafe { *errno = kept };
        pass_on(number, info, context);
    }

    /// Calls the handler that was there before.
    fn pass_on(number: c_int, info: *mut siginfo_t, context: *mut c_void) {
        let before = &BEFORE[number as usize];
        let handler = before.handler.load(Ordering::Relaxed);
        if is_none(handler) {
            return;
        }
        let handler = std::ptr::with_exposed_provenance::<()>(handler);
        if before.flags.load(Ordering::Relaxed) & libc::SA_SIGINFO != 0 {
            // SAFETY: the host had it installed as a handler that takes these arguments.
            let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = unsafe { std::mem::transmute(handler) };
            handler(number, info, context);
        } else {
            // SAFETY: the host had it installed as a handler that takes the number.
            let handler: extern "C" fn(c_int) = unsafe { std::mem::transmute(handler) };
            handler(number);
        }
    }

    fn is_none(handler: usize) -> bool {
        [libc::SIG_DFL, libc::SIG_IGN].contains(&handler)
    }
}
