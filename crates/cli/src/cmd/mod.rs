//! The commands: one file each.

mod completions;
mod man;
mod recover;

use crate::args::Command;
use crate::out::words::Words;
use crate::trouble::Trouble;
use crate::verdict::Verdict;
use std::io::{ErrorKind, Write};

/// Does what was asked for.
pub fn run(command: Command) -> Verdict {
    match command {
        Command::Recover(args) => recover::run(args),
        Command::Completions { shell } => completions::run(shell),
        Command::Man { command } => man::run(command.as_deref()),
    }
}

/// Writes a whole text to standard output. That nobody reads on is no trouble.
fn print(text: &[u8]) -> Verdict {
    let mut stdout = std::io::stdout();
    match stdout.write_all(text).and_then(|()| stdout.flush()) {
        Err(cause) if cause.kind() != ErrorKind::BrokenPipe => {
            Words::default().trouble(&Trouble::new("standard output", format!("cannot write: {cause}")));
            Verdict::Trouble
        }
        _ => Verdict::Fine,
    }
}
