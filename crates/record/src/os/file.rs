//! File operations that need system calls: reserving space, direct I/O, clones, leases, exchange.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::path::Path;

/// Reserves disk space, so that writing to the pages cannot fail later.
#[cfg(target_os = "linux")]
pub(crate) fn reserve(file: &File, offset: u64, len: u64) -> io::Result<()> {
    match fallocate(file, 0, offset, len) {
        // If the file system cannot reserve space, the zeros that are written next allocate it.
        Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS)) => Ok(()),
        result => result,
    }
}

/// Reserves disk space without enlarging the file, to make later writes faster. Best effort.
pub(crate) fn reserve_beyond_end(file: &File, offset: u64, len: u64) {
    #[cfg(target_os = "linux")]
    let _ = fallocate(file, libc::FALLOC_FL_KEEP_SIZE, offset, len);
    #[cfg(not(target_os = "linux"))]
    let _ = (file, offset, len);
}

/// Starts writing a range of a file to disk, and waits for the range before it. Best effort.
pub(crate) fn write_back(file: &File, from: u64, len: u64) {
    #[cfg(target_os = "linux")]
    for (at, flags) in
        [(from, libc::SYNC_FILE_RANGE_WRITE), (from.saturating_sub(len), libc::SYNC_FILE_RANGE_WAIT_BEFORE)]
    {
        // SAFETY: only numbers are passed; the file's content does not change.
        unsafe { libc::sync_file_range(std::os::fd::AsRawFd::as_raw_fd(file), at as i64, len as i64, flags) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, from, len);
}

/// Makes reads and writes of a file bypass the page cache, or use it again. Returns true if this changed the mode. On a
/// file system without direct I/O, the next read or write may fail instead.
pub(crate) fn set_past_cache(file: &File, is_past: bool) -> bool {
    #[cfg(target_os = "linux")]
    {
        let file = std::os::fd::AsRawFd::as_raw_fd(file);
        // SAFETY: only numbers are passed; the access mode of our own file does not change its content.
        unsafe {
            let before = libc::fcntl(file, libc::F_GETFL);
            let after = if is_past { before | libc::O_DIRECT } else { before & !libc::O_DIRECT };
            before >= 0 && after != before && libc::fcntl(file, libc::F_SETFL, after) == 0
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (file, is_past);
        false
    }
}

/// Makes an empty file a copy of another that shares its disk blocks. Returns false if the file system cannot.
pub(crate) fn clone_into(from: &File, to: &File) -> bool {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        // SAFETY: both descriptors are valid; `to` is ours.
        unsafe { libc::ioctl(to.as_raw_fd(), libc::FICLONE, from.as_raw_fd()) == 0 }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (from, to);
        false
    }
}

#[cfg(target_os = "linux")]
fn fallocate(file: &File, mode: libc::c_int, offset: u64, len: u64) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let to_off = |n: u64| libc::off_t::try_from(n).map_err(io::Error::other);
    let (from, n_bytes) = (to_off(offset)?, to_off(len)?);
    loop {
        // SAFETY: reserves space for our own file; its content does not change.
        if unsafe { libc::fallocate(file.as_raw_fd(), mode, from, n_bytes) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub fn reserve(_file: &File, _offset: u64, _len: u64) -> io::Result<()> {
    Ok(())
}

/// Sets the signal that reports that a lease blocks someone. The value is the same on all of Linux; the `libc` crate
/// lacks it.
#[cfg(target_os = "linux")]
const F_SETSIG: libc::c_int = 10;

/// Proof that no one else, in this or any other process, has a file open. Opening the file blocks until the lease is
/// dropped.
pub(crate) struct Lease<'a> {
    file: &'a File,
}

impl<'a> Lease<'a> {
    /// Takes a lease. Returns `None` if the file is open elsewhere or the system has no leases.
    pub(crate) fn take(file: &'a File) -> Option<Self> {
        #[cfg(target_os = "linux")]
        {
            use std::os::fd::AsRawFd;
            // When someone waits for the file, the kernel sends a signal to the holder of the lease. SIGIO would end a
            // process that does not expect it; SIGURG is ignored by default.
            // SAFETY: sets the signal of, and takes a lease on, our own descriptor.
            let is_ours = unsafe {
                libc::fcntl(file.as_raw_fd(), F_SETSIG, libc::SIGURG) == 0
                    && libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_WRLCK) == 0
            };
            is_ours.then_some(Self { file })
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = file;
            None
        }
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        // SAFETY: releases the lease that `take` took.
        unsafe {
            libc::fcntl(std::os::fd::AsRawFd::as_raw_fd(self.file), libc::F_SETLEASE, libc::F_UNLCK);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = self.file;
    }
}

/// Swaps the files of two names atomically. Returns an error if the system cannot.
pub(crate) fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::ffi::OsStrExt;
        let to_c = |path: &Path| std::ffi::CString::new(path.as_os_str().as_bytes());
        let (one, other) = (to_c(one)?, to_c(other)?);
        let here = libc::AT_FDCWD;
        // SAFETY: both strings are valid and end in NUL; the call only renames.
        let result = unsafe { libc::renameat2(here, one.as_ptr(), here, other.as_ptr(), libc::RENAME_EXCHANGE) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (one, other);
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }
}
