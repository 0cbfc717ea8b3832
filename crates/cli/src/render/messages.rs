//! Messages on standard error.

use super::printable::printable;
use super::style::{DAMAGE, ERROR, HINT};
use super::table::clean;
use super::units::{count, number};
use crate::exit_status::ExitStatus;
use crate::user_error::UserError;
use ferrum_trace_format::chrome::read::Losses;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

/// Number of damaged places that are listed without `--verbose`.
pub(crate) const SHOWN: usize = 20;

/// Writes to standard error, with colors if it is a terminal.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Messages {
    /// List all damaged places.
    pub(crate) verbose: bool,
}

impl Messages {
    /// Prints a remark about a file.
    pub(crate) fn note(&self, path: &Path, what: &str) {
        write(&format!("{}: {}\n", clean(&path.display().to_string()), clean(what)));
    }

    /// Prints a text.
    pub(crate) fn print(&self, text: &str) {
        write(text);
    }

    /// Prints an error and its hint.
    pub(crate) fn error(&self, error: &UserError) {
        write(&error_text(error));
    }

    /// Prints an error about the flags.
    pub(crate) fn refuse(&self, error: &UserError) -> ExitStatus {
        self.error(error);
        ExitStatus::Error
    }

    /// Prints a line about something that a trace lacks.
    pub(crate) fn missing(&self, name: &str, what: &str) {
        write(&format!("{}: {}\n", clean(name), clean(what)));
    }

    /// Prints the notes about a trace and the places that could not be read.
    pub(crate) fn losses(&self, name: &str, losses: &Losses, notes: &[String]) {
        write(&losses_text(name, losses, notes, self.verbose));
    }
}

/// Ignores errors: standard error may be closed.
fn write(text: &str) {
    let _ = anstream::stderr().write_all(printable(text).as_bytes());
}

fn error_text(error: &UserError) -> String {
    let mut text = format!("{ERROR}error:{ERROR:#} {error}\n");
    if let Some(hint) = error.suggestion() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n{HINT}hint:{HINT:#} {hint}");
    }
    text
}

fn losses_text(name: &str, losses: &Losses, notes: &[String], verbose: bool) -> String {
    let (mut text, name) = (String::new(), clean(name));
    for note in notes {
        let _ = writeln!(text, "{name}: {}", clean(note));
    }
    if losses.n == 0 {
        return text;
    }
    let (places, bytes) = (count(losses.n, "place"), count(losses.n_bytes, "byte"));
    let _ = writeln!(text, "{name}: {DAMAGE}{places} could not be read{DAMAGE:#}, {bytes}:");
    let n_shown = if verbose { losses.first.len() } else { SHOWN.min(losses.first.len()) };
    for loss in &losses.first[..n_shown] {
        let _ = writeln!(text, "  {}", clean(&loss.to_string()));
    }
    let n_more = losses.n - n_shown as u64;
    if n_more > 0 {
        let all = if n_shown < losses.first.len() { " (-v shows them)" } else { "" };
        let _ = writeln!(text, "  … and {} more{all}", number(n_more));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_a_paragraph_of_its_own() {
        let text = error_text(&UserError::new("a", "is wrong").hint("try `b`"));
        assert_eq!(anstream::adapter::strip_str(&text).to_string(), "error: a: is wrong\n\nhint: try `b`\n");
    }
}
