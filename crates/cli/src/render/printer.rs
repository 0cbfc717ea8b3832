//! Standard output.

use super::json;
use super::messages::Messages;
use super::printable::printable;
use crate::exit_status::ExitStatus;
use crate::user_error::UserError;
use serde::Serialize;
use std::io::{self, Write};

/// Prints text or JSON on standard output until its reader closes the pipe.
#[derive(Debug)]
pub(crate) struct Printer {
    /// Standard error.
    pub(crate) messages: Messages,
    /// True for JSON.
    pub(crate) is_json: bool,
    is_read: bool,
    has_printed: bool,
}

impl Printer {
    pub(crate) fn new(messages: Messages, is_json: bool) -> Self {
        Self { messages, is_json, is_read: true, has_printed: false }
    }

    /// Returns false once the reader has closed the pipe.
    pub(crate) fn is_read(&self) -> bool {
        self.is_read
    }

    /// Prints a text, with colors on a terminal. An empty line separates it from the text before.
    pub(crate) fn paragraph(&mut self, text: &str) -> ExitStatus {
        let separator = if std::mem::replace(&mut self.has_printed, true) { "\n" } else { "" };
        self.text(&format!("{separator}{text}"))
    }

    /// Prints a text, with colors on a terminal.
    pub(crate) fn text(&mut self, text: &str) -> ExitStatus {
        self.write(|out| anstream::AutoStream::auto(out).write_all(printable(text).as_bytes()))
    }

    /// Prints an object on a line of its own.
    pub(crate) fn object(&mut self, object: &impl Serialize) -> ExitStatus {
        self.write(|mut out| json::line(&mut out, object))
    }

    /// Reports an error about the file `name`, also as JSON if `is_json`.
    pub(crate) fn error(&mut self, name: &str, error: &UserError) -> ExitStatus {
        self.messages.error(error);
        if self.is_json {
            self.write(|mut out| json::error(&mut out, name, error));
        }
        ExitStatus::Error
    }

    /// A closed pipe is not an error.
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

/// Writes bytes to standard output. A closed pipe is not an error.
pub(crate) fn print(text: &[u8]) -> ExitStatus {
    let mut stdout = io::stdout();
    match stdout.write_all(text).and_then(|()| stdout.flush()) {
        Err(cause) if cause.kind() != io::ErrorKind::BrokenPipe => {
            Messages::default().error(&UserError::new("standard output", format!("cannot write: {cause}")));
            ExitStatus::Error
        }
        _ => ExitStatus::Success,
    }
}
