//! Faults in memory that is mapped from files.
//!
//! If another process truncates a mapped file, or its file system cannot store a page, the next access to the page
//! raises `SIGBUS`, which ends the process. The handler here replaces the mapping by private zeros, marks it as lost,
//! and lets the access continue. It acts only on faults in [`Guarded`] memory; everything else goes to the handler that
//! was there before, or gets the default action.
//!
//! The handler is installed once. A program that installs its own later has to call the previous one for faults that
//! are not its own, as is usual; otherwise it is not protected.
#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
pub(crate) use linux::{Guarded, install};

/// Not supported: guards nothing.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
pub struct Guarded;

#[cfg(not(target_os = "linux"))]
pub fn install() {}

#[cfg(not(target_os = "linux"))]
impl Guarded {
    pub fn new(_start: *mut u8, _len: usize, _is_lost: &std::sync::Arc<std::sync::atomic::AtomicBool>) -> Option<Self> {
        None
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use crate::os::signal::{call_previous, replace_handler};
    use libc::{c_int, c_void, siginfo_t};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

    /// Maximum number of guarded mappings: 16 GiB in segments of 1 MiB. Further ones are not guarded.
    const MAPPINGS_MAX: usize = 1 << 14;
    /// Start of an entry whose other fields are being written.
    const RESERVED: usize = 1;

    /// The guarded mappings. Free entries have a start of zero. Pages of the table that are not used take no memory.
    static MAPPINGS: [Mapping; MAPPINGS_MAX] = [const { Mapping::new() }; MAPPINGS_MAX];
    /// Number of entries that have ever been used.
    static N_USED: AtomicUsize = AtomicUsize::new(0);
    /// True once the handler was installed.
    static IS_INSTALLED: AtomicBool = AtomicBool::new(false);

    struct Mapping {
        start: AtomicUsize,
        len: AtomicUsize,
        /// Set when the mapping is lost.
        is_lost: AtomicPtr<AtomicBool>,
    }

    impl Mapping {
        const fn new() -> Self {
            let is_lost = AtomicPtr::new(std::ptr::null_mut());
            Self { start: AtomicUsize::new(0), len: AtomicUsize::new(0), is_lost }
        }

        fn contains(&self, address: usize) -> bool {
            // Pairs with the store in `Guarded::new`.
            let start = self.start.load(Ordering::Acquire);
            start > RESERVED && address.checked_sub(start).is_some_and(|at| at < self.len.load(Ordering::Relaxed))
        }
    }

    /// Memory mapped from a file, in which faults are handled. Must be dropped before the memory is unmapped.
    #[derive(Debug)]
    pub(crate) struct Guarded {
        n: usize,
        /// The handler has a pointer to it.
        _is_lost: Arc<AtomicBool>,
    }

    impl Guarded {
        /// Guards a mapping, which must be page-aligned. A fault sets `is_lost`. Returns `None` if the handler is not
        /// installed or there are too many mappings.
        pub(crate) fn new(start: *mut u8, len: usize, is_lost: &Arc<AtomicBool>) -> Option<Self> {
            if !IS_INSTALLED.load(Ordering::Relaxed) {
                return None;
            }
            let take = |mapping: &Mapping| {
                mapping.start.compare_exchange(0, RESERVED, Ordering::Acquire, Ordering::Relaxed).is_ok()
            };
            let n = MAPPINGS.iter().position(take)?;
            let mapping = &MAPPINGS[n];
            mapping.len.store(len, Ordering::Relaxed);
            mapping.is_lost.store(Arc::as_ptr(is_lost).cast_mut(), Ordering::Relaxed);
            N_USED.fetch_max(n + 1, Ordering::Relaxed);
            // Pairs with the load in `contains`: a handler that sees the start sees the other fields.
            mapping.start.store(start.expose_provenance(), Ordering::Release);
            Some(Self { n, _is_lost: Arc::clone(is_lost) })
        }
    }

    impl Drop for Guarded {
        fn drop(&mut self) {
            MAPPINGS[self.n].start.store(0, Ordering::Release);
        }
    }

    /// Installs the handler, unless it was installed before.
    pub(crate) fn install() {
        if !IS_INSTALLED.load(Ordering::Relaxed) && replace_handler(libc::SIGBUS, on_fault).is_ok() {
            IS_INSTALLED.store(true, Ordering::Relaxed);
        }
    }

    /// The handler. It does only what is allowed in a handler, and leaves `errno` as it was.
    extern "C" fn on_fault(number: c_int, info: *mut siginfo_t, context: *mut c_void) {
        // SAFETY: the kernel passes valid details; the address is part of those of a `SIGBUS`.
        let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
        let is_of_memory = matches!(code, libc::BUS_ADRERR | libc::BUS_MCEERR_AR);
        if is_of_memory && replace_mapping(address) {
            return;
        }
        call_previous(number, info, context);
    }

    /// Replaces the guarded mapping that contains an address by zeros. Returns false if there is none.
    fn replace_mapping(address: usize) -> bool {
        // SAFETY: every thread has an `errno`.
        let errno = unsafe { libc::__errno_location() };
        // SAFETY: as above.
        let saved = unsafe { *errno };
        let used = MAPPINGS.iter().take(N_USED.load(Ordering::Relaxed));
        let is_replaced = used.filter(|mapping| mapping.contains(address)).any(|mapping| {
            let start = std::ptr::with_exposed_provenance_mut::<c_void>(mapping.start.load(Ordering::Acquire));
            let len = mapping.len.load(Ordering::Relaxed);
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_NORESERVE;
            // SAFETY: the thread that faulted is using this mapping, so its owner keeps it mapped and guarded until the
            // handler returns. It is replaced as a whole by memory of the same size and protection, which is used
            // through atomics only.
            let replaced = unsafe { libc::mmap(start, len, protection, flags, -1, 0) } != libc::MAP_FAILED;
            if replaced {
                // SAFETY: `Guarded` keeps it, see above.
                unsafe { &*mapping.is_lost.load(Ordering::Relaxed) }.store(true, Ordering::Relaxed);
            }
            replaced
        });
        // SAFETY: as above.
        unsafe { *errno = saved };
        is_replaced
    }
}
