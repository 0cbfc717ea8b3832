//! Messages of the recorder on standard error.

use crate::memory::spool::write_to_stderr;

/// Writes one line to standard error. A write error is ignored: standard error may be closed.
pub fn say(message: &str) {
    let line = format!("ferrum-trace: {}\n", message.replace('\n', " "));
    write_to_stderr(line.as_bytes());
}
