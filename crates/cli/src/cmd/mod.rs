//! The commands: one file each.

mod check;
mod completions;
pub mod convert;
pub mod layers;
mod making;
mod man;
mod merge;
#[cfg(unix)]
mod record;
mod recover;
mod repair;
pub mod requests;
pub mod steps;
pub mod summary;

use crate::args::{Command, InputArgs};
use crate::input::{self, Folders, Input, NoInput};
use crate::out::printer::Printer;
use crate::out::words::Words;
use crate::source::{Passes, Source};
use crate::trouble::Trouble;
use crate::verdict::Verdict;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

/// Does what was asked for.
pub fn run(command: Command) -> ExitCode {
    let verdict = match command {
        #[cfg(unix)]
        Command::Record(args) => return record::run(&args),
        Command::Summary(args) => summary::run(&args),
        Command::Layers(args) => layers::run(&args),
        Command::Steps(args) => steps::run(&args),
        Command::Requests(args) => requests::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Repair(args) => repair::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Merge(args) => merge::run(&args),
        Command::Recover(args) => recover::run(args),
        Command::Completions { shell } => completions::run(shell),
        Command::Man { command } => man::run(command.as_deref()),
    };
    verdict.into()
}

/// The traces that words of the command line stand for.
type Inputs = Vec<Result<Input, NoInput>>;

/// What becomes of the remaining traces when nobody reads what is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unread {
    /// They are not worked on.
    Ends,
    /// Files are made of them all the same.
    GoesOn,
}

fn expand(args: &InputArgs) -> Inputs {
    input::expand(&args.files, Folders::AreRefused)
}

/// Works on each trace in turn, whatever becomes of the others, and gives the worst of it.
fn each_trace(
    inputs: Inputs,
    passes: Passes,
    unread: Unread,
    printer: &mut Printer,
    mut work: impl FnMut(&Source, &mut Printer) -> Result<Verdict, Trouble>,
) -> Verdict {
    let mut worst = Verdict::Fine;
    for input in inputs {
        let verdict = match input {
            Err(NoInput { name, trouble }) => printer.trouble(&name, &trouble),
            Ok(input) => {
                let name = input.name();
                let done = Source::of(input, passes, &printer.words).and_then(|source| work(&source, printer));
                done.unwrap_or_else(|trouble| printer.trouble(&name, &trouble))
            }
        };
        worst = worst.max(verdict);
        if unread == Unread::Ends && !printer.is_read() {
            break;
        }
    }
    worst
}

/// Says why a trace has nothing of what is asked for, if it has nothing.
fn tell_absent(words: &Words, source: &Source, absent: Option<&str>) -> Verdict {
    let Some(why) = absent else { return Verdict::Fine };
    words.absent(&source.words, why);
    Verdict::Finding
}

/// What the flags ask for makes no sense.
fn refuse(words: &Words, trouble: &Trouble) -> Verdict {
    words.trouble(trouble);
    Verdict::Trouble
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
