//! `recover`: traces from the spools that killed processes left.

use super::args::RecoverArgs;
use super::json::recovered as recovered_line;
use crate::exit_status::ExitStatus;
use crate::input::paths::{self, Folders, Input, InvalidInput};
use crate::input::recovery::{Outcome, Recovered, Recovery};
use crate::os::interrupt;
use crate::output::target::Target;
use crate::render::json as render_json;
use crate::render::messages::Messages;
use crate::user_error::UserError;
use std::io::{self, Write};

pub fn run(args: &RecoverArgs) -> ExitStatus {
    let messages = Messages { verbose: args.verbose };
    let inputs = paths::expand(&args.files, Folders::ListSpools);
    let recovery = match recovery(args, &inputs) {
        Ok(recovery) => recovery,
        Err(error) => {
            messages.error(&error);
            return ExitStatus::Error;
        }
    };
    interrupt::install("no partial trace is left behind, and the spool is unchanged");
    let mut report = Report { messages, json: args.json.then(io::stdout), status: ExitStatus::Success };
    for input in inputs {
        match input {
            Ok(input) => report.add(&input.name(), recover(&input, &recovery, &messages)),
            Err(InvalidInput { name, error }) => report.add(&name, Err(error)),
        }
    }
    report.status
}

fn recover(input: &Input, recovery: &Recovery, messages: &Messages) -> Result<Outcome, UserError> {
    match input {
        Input::Unrecovered(unrecovered) => unrecovered.recover(recovery, messages),
        Input::Stdin | Input::Spool(_) | Input::Other(_) => recovery.run(input.clone()),
    }
}

/// What the flags ask for, if they agree with each other and with the files.
fn recovery(args: &RecoverArgs, inputs: &[Result<Input, InvalidInput>]) -> Result<Recovery, UserError> {
    let target = args.output.as_deref().map(Target::of);
    if target.is_some() && inputs.len() > 1 {
        let what = format!("needs exactly one FILE, found {}", inputs.len());
        return Err(UserError::new("-o", what).hint("without `-o`, each trace is written next to its spool"));
    }
    let has_stdin = inputs.iter().flatten().any(|input| *input == Input::Stdin);
    let is_to_stdout = target == Some(Target::Stdout) || (target.is_none() && has_stdin);
    if args.json && is_to_stdout {
        let error = UserError::new("--json", "standard output is already used for the trace");
        return Err(error.hint("write the trace to a file: `-o PATH`"));
    }
    Ok(Recovery { target, force: args.force, keep: args.keep })
}

/// Says what becomes of each file, and keeps the worst of it.
struct Report {
    messages: Messages,
    /// Where JSON goes, if it is wanted and somebody reads it.
    json: Option<io::Stdout>,
    status: ExitStatus,
}

impl Report {
    fn add(&mut self, name: &str, outcome: Result<Outcome, UserError>) {
        let status = match outcome {
            Ok(Outcome::ClosedPipe) => ExitStatus::Success,
            Ok(Outcome::Recovered(recovered)) => {
                self.messages.recovered(&recovered);
                self.print(|out| recovered_line(out, &recovered)).max(status_of(&recovered))
            }
            Err(error) => {
                self.messages.error(&error);
                self.print(|out| render_json::error(out, name, &error));
                ExitStatus::Error
            }
        };
        self.status = self.status.max(status);
    }

    /// When nobody reads the JSON any more, the remaining files are recovered all the same.
    fn print(&mut self, print: impl FnOnce(&mut io::Stdout) -> io::Result<()>) -> ExitStatus {
        let Some(out) = &mut self.json else {
            return ExitStatus::Success;
        };
        let Err(cause) = print(out).and_then(|()| out.flush()) else {
            return ExitStatus::Success;
        };
        self.json = None;
        if cause.kind() == io::ErrorKind::BrokenPipe {
            return ExitStatus::Success;
        }
        self.messages.error(&UserError::new("standard output", format!("cannot write: {cause}")));
        ExitStatus::Error
    }
}

fn status_of(recovered: &Recovered) -> ExitStatus {
    match (recovered.cleanup_errors.len(), recovered.summary.n_diagnostics) {
        (0, 0) => ExitStatus::Success,
        (0, _) => ExitStatus::Finding,
        _ => ExitStatus::Error,
    }
}
