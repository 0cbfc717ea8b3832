//! The loop over the traces of a command line, shared by the commands that read traces.

use crate::exit_status::ExitStatus;
use crate::flags::InputArgs;
use crate::input::paths::{self, Folders, Inputs, InvalidInput};
use crate::input::source::{Passes, Source};
use crate::render::messages::Messages;
use crate::render::printer::Printer;
use crate::user_error::UserError;

/// Handling of the remaining traces once the reader of standard output has closed the pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnClosedPipe {
    /// Skip them.
    Stop,
    /// Process them, because each writes a file.
    Continue,
}

/// Returns the inputs of a command that reads traces.
pub(crate) fn expand(args: &InputArgs) -> Inputs {
    paths::expand(&args.files, Folders::Reject)
}

/// Processes one trace after the other, also after errors, and returns the worst status.
pub(crate) fn each_trace(
    inputs: Inputs,
    passes: Passes,
    on_closed_pipe: OnClosedPipe,
    printer: &mut Printer,
    mut work: impl FnMut(&Source, &mut Printer) -> Result<ExitStatus, UserError>,
) -> ExitStatus {
    let mut worst = ExitStatus::Success;
    for input in inputs {
        let status = match input {
            Err(InvalidInput { name, error }) => printer.error(&name, &error),
            Ok(input) => {
                let name = input.name();
                let done = Source::of(input, passes, &printer.messages).and_then(|source| work(&source, printer));
                done.unwrap_or_else(|error| printer.error(&name, &error))
            }
        };
        worst = worst.max(status);
        if on_closed_pipe == OnClosedPipe::Stop && !printer.is_read() {
            break;
        }
    }
    worst
}

/// Reports the reason why there are no results for a trace, if any.
pub(crate) fn report_missing(messages: &Messages, source: &Source, missing: Option<&str>) -> ExitStatus {
    let Some(why) = missing else { return ExitStatus::Success };
    messages.missing(&source.label, why);
    ExitStatus::Finding
}
