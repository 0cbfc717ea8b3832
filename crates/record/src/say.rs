//! The few words that a recorder may say.

use std::io::Write;

/// Writes one line to standard error. That it may be closed is the host's business.
pub fn say(message: &str) {
    let line = format!("ferrum-trace: {}\n", message.replace('\n', " "));
    let _ = std::io::stderr().write_all(line.as_bytes());
}
