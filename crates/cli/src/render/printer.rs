//! Standard output, as long as somebody reads it.

use super::json;
use super::messages::Messages;
use crate::exit_status::ExitStatus;
use crate::user_error::UserError;
use serde::Serialize;
use std::io::{self, Write};

/// Standard output.
#[derive(Debug)]
pub struct Printer {
    /// What says the rest.
    pub messages: Messages,
    /// Whether JSON is wanted.
    pub is_json: bool,
    is_read: bool,
}

impl Printer {
    /// For tables, or for JSON.
    pub fn new(messages: Messages, is_json: bool) -> Self {
        Self { messages, is_json, is_read: true }
    }

    /// Whether somebody still reads.
    pub fn is_read(&self) -> bool {
        self.is_read
    }

    /// Prints a text, with colors if they can be seen.
    pub fn text(&mut self, text: &str) -> ExitStatus {
        self.write(|out| anstream::AutoStream::auto(out).write_all(text.as_bytes()))
    }

    /// Prints an object on a line.
    pub fn object(&mut self, object: &impl Serialize) -> ExitStatus {
        self.write(|mut out| json::line(&mut out, object))
    }

    /// Says what is wrong with a file, also in JSON if that is wanted.
    pub fn error(&mut self, name: &str, error: &UserError) -> ExitStatus {
        self.messages.error(error);
        if self.is_json {
            self.write(|mut out| json::error(&mut out, name, error));
        }
        ExitStatus::Error
    }

    /// That nobody reads on is no trouble.
    fn write(&mut self, write: impl FnOnce(io::Stdout) -> io::Result<()>) -> ExitStatus {
        if !self.is_read {
            return ExitStatus::Success;
        }
        let Err(cause) = write(io::stdout()).and_then(|()| io::stdout().flush()) else {
            return ExitStatus::Success;
        };
        self.is_read = false;
        if cause.kind() == io::ErrorKind::BrokenPipe {
            return ExitStatus::Success;
        }
        self.messages.error(&UserError::new("standard output", format!("cannot write: {cause}")));
        ExitStatus::Error
    }
}

/// Writes a whole text to standard output. That nobody reads on is no trouble.
pub fn print(text: &[u8]) -> ExitStatus {
    let mut stdout = io::stdout();
    match stdout.write_all(text).and_then(|()| stdout.flush()) {
        Err(cause) if cause.kind() != io::ErrorKind::BrokenPipe => {
            Messages::default().error(&UserError::new("standard output", format!("cannot write: {cause}")));
            ExitStatus::Error
        }
        _ => ExitStatus::Success,
    }
}
