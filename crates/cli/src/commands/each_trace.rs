//! The loop over the traces of a command line, shared by the commands that read traces.

use crate::exit_status::Verdict;
use crate::flags::InputArgs;
use crate::input::paths::{self, Folders, Inputs, NoInput};
use crate::input::source::{Passes, Source};
use crate::render::messages::Words;
use crate::render::printer::Printer;
use crate::user_error::Trouble;

/// What becomes of the remaining traces when nobody reads what is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// They are not worked on.
    Ends,
    /// Files are made of them all the same.
    GoesOn,
}

pub fn expand(args: &InputArgs) -> Inputs {
    paths::expand(&args.files, Folders::AreRefused)
}

/// Works on each trace in turn, whatever becomes of the others, and gives the worst of it.
pub fn each_trace(
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
pub fn tell_absent(words: &Words, source: &Source, absent: Option<&str>) -> Verdict {
    let Some(why) = absent else { return Verdict::Fine };
    words.absent(&source.words, why);
    Verdict::Finding
}
