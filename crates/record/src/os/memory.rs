//! Room for more memory. A failed allocation aborts the program, so work that needs much memory asks for it first.
#![allow(unsafe_code)]

/// Returns true if the process may map this much more memory at the moment. The cause of a refusal is a limit of the
/// address space (`RLIMIT_AS`), or a system that does not promise more memory than it has. Limits of a control group do
/// not count: they are enforced when memory is used.
pub(crate) fn has_room(n_bytes: usize) -> bool {
    #[cfg(unix)]
    {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANON;
        // SAFETY: a new mapping at an address of the kernel's choice disturbs nothing.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), n_bytes, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return false;
        }
        // SAFETY: the mapping was made above, and nothing refers to it.
        unsafe { libc::munmap(start, n_bytes) };
    }
    let _ = n_bytes;
    true
}
