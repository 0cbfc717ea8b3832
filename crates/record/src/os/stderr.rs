//! Messages on standard error.
#![allow(unsafe_code)]

use crate::os::file_size;

/// Writes one line to standard error. Errors are ignored: the host may have closed it.
pub(crate) fn say(message: &str) {
    let line = format!("ferrum-trace: {}\n", message.replace('\n', " "));
    // Standard error may be a file that has reached the size limit.
    file_size::without_signal(|| write_to_stderr(line.as_bytes()));
}

/// Writes to standard error without the lock of the standard library, which another thread may have held when this
/// process was forked.
fn write_to_stderr(bytes: &[u8]) {
    #[cfg(unix)]
    // SAFETY: the bytes are valid for their length. A closed or full descriptor is an error that is ignored.
    unsafe {
        libc::write(libc::STDERR_FILENO, bytes.as_ptr().cast(), bytes.len());
    }
    #[cfg(not(unix))]
    {
        use std::io::Write;
        let _ = std::io::stderr().write_all(bytes);
    }
}
