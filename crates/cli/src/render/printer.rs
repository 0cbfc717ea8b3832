//! Standard output, as long as somebody reads it.

use super::json;
use super::messages::Words;
use crate::exit_status::Verdict;
use crate::user_error::Trouble;
use serde::Serialize;
use std::io::{self, Write};

/// Standard output.
#[derive(Debug)]
pub struct Printer {
    /// What says the rest.
    pub words: Words,
    /// Whether JSON is wanted.
    pub is_json: bool,
    is_read: bool,
}

impl Printer {
    /// For tables, or for JSON.
    pub fn new(words: Words, is_json: bool) -> Self {
        Self { words, is_json, is_read: true }
    }

    /// Whether somebody still reads.
    pub fn is_read(&self) -> bool {
        self.is_read
    }

    /// Prints a text, with colors if they can be seen.
    pub fn text(&mut self, text: &str) -> Verdict {
        self.write(|out| anstream::AutoStream::auto(out).write_all(text.as_bytes()))
    }

    /// Prints an object on a line.
    pub fn object(&mut self, object: &impl Serialize) -> Verdict {
        self.write(|mut out| json::line(&mut out, object))
    }

    /// Says what is wrong with a file, also in JSON if that is wanted.
    pub fn trouble(&mut self, name: &str, trouble: &Trouble) -> Verdict {
        self.words.trouble(trouble);
        if self.is_json {
            self.write(|mut out| json::trouble(&mut out, name, trouble));
        }
        Verdict::Trouble
    }

    /// That nobody reads on is no trouble.
    fn write(&mut self, write: impl FnOnce(io::Stdout) -> io::Result<()>) -> Verdict {
        if !self.is_read {
            return Verdict::Fine;
        }
        let Err(cause) = write(io::stdout()).and_then(|()| io::stdout().flush()) else {
            return Verdict::Fine;
        };
        self.is_read = false;
        if cause.kind() == io::ErrorKind::BrokenPipe {
            return Verdict::Fine;
        }
        self.words.trouble(&Trouble::new("standard output", format!("cannot write: {cause}")));
        Verdict::Trouble
    }
}

/// Writes a whole text to standard output. That nobody reads on is no trouble.
pub fn print(text: &[u8]) -> Verdict {
    let mut stdout = io::stdout();
    match stdout.write_all(text).and_then(|()| stdout.flush()) {
        Err(cause) if cause.kind() != io::ErrorKind::BrokenPipe => {
            Words::default().trouble(&Trouble::new("standard output", format!("cannot write: {cause}")));
            Verdict::Trouble
        }
        _ => Verdict::Fine,
    }
}
