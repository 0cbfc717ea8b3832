//! The few words that a recorder may say.

use crate::memory::spool::write_to_stderr;

/// Writes one line to standard error. That it may be closed is the host's business.
pub fn say(message: &str) {
    let line = format!("ferrum-trace: {}\n", message.replace('\n', " "));
    write_to_stderr(line.as_bytes());
}
