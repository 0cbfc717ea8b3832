//! Recovers each spool.

use super::args::RecoverArgs;
use super::json::RecoverObject;
use crate::exit_status::ExitStatus;
use crate::input::paths::{self, Folders, Input, Inputs, InvalidInput};
use crate::input::recovered_text::report_recovered;
use crate::input::recovery::{Outcome, Recovered, Recovery};
use crate::os::interrupt;
use crate::output::output_writer::checked_target;
use crate::render::messages::Messages;
use crate::render::printer::Printer;
use crate::user_error::UserError;

pub(crate) fn run(args: &RecoverArgs) -> ExitStatus {
    let messages = args.report.messages();
    let inputs = paths::expand(&args.files, Folders::ListSpools);
    let recovery = match recovery(args, &inputs) {
        Ok(recovery) => recovery,
        Err(error) => return messages.refuse(&error),
    };
    interrupt::install("no partial trace is left behind, and the spool is unchanged");
    // If the reader of the JSON closes the pipe, the remaining files are recovered all the same.
    let mut printer = Printer::new(messages, args.report.json);
    let mut worst = ExitStatus::Success;
    for input in inputs {
        let status = match input {
            Ok(input) => report(&input.name(), recover(&input, &recovery, &messages), &mut printer),
            Err(InvalidInput { name, error }) => printer.error(&name, &error),
        };
        worst = worst.max(status);
    }
    worst
}

fn recover(input: &Input, recovery: &Recovery, messages: &Messages) -> Result<Outcome, UserError> {
    match input {
        Input::Unrecovered(unrecovered) => unrecovered.recover(recovery, messages),
        Input::Stdin | Input::Spool(_) | Input::Other(_) => recovery.run(input.clone()),
    }
}

/// Checks that the flags agree with each other and with the files.
fn recovery(args: &RecoverArgs, inputs: &Inputs) -> Result<Recovery, UserError> {
    let hint = "without `-o`, each trace is written next to its spool";
    let target = checked_target(paths::count(inputs), args.output.as_deref(), args.report.json, hint)?;
    Ok(Recovery { target, force: args.force, keep: args.keep })
}

fn report(name: &str, outcome: Result<Outcome, UserError>, printer: &mut Printer) -> ExitStatus {
    match outcome {
        Ok(Outcome::ClosedPipe) => ExitStatus::Success,
        Ok(Outcome::Recovered(recovered)) => {
            report_recovered(&printer.messages, &recovered);
            let printed =
                if printer.is_json { printer.object(&RecoverObject::new(&recovered)) } else { ExitStatus::Success };
            printed.max(status_of(&recovered))
        }
        Err(error) => printer.error(name, &error),
    }
}

fn status_of(recovered: &Recovered) -> ExitStatus {
    match recovered.summary.why_incomplete() {
        _ if !recovered.cleanup_errors.is_empty() => ExitStatus::Error,
        Some(_) => ExitStatus::Finding,
        None => ExitStatus::Success,
    }
}
