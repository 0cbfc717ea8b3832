//! `recover`: traces from the spools that killed processes left.

use super::args::RecoverArgs;
use super::json::recovered as recovered_line;
use crate::exit_status::Verdict;
use crate::input::paths::{self, Folders, Input, NoInput};
use crate::input::recovery::{Outcome, Recovered, Recovery};
use crate::os::interrupt;
use crate::output::target::Target;
use crate::render::json as render_json;
use crate::render::messages::Words;
use crate::user_error::Trouble;
use std::io::{self, Write};

pub fn run(args: &RecoverArgs) -> Verdict {
    let words = Words { verbose: args.verbose };
    let inputs = paths::expand(&args.files, Folders::HoldSpools);
    let recovery = match recovery(args, &inputs) {
        Ok(recovery) => recovery,
        Err(trouble) => {
            words.trouble(&trouble);
            return Verdict::Trouble;
        }
    };
    interrupt::install("no partial trace is left behind, and the spool is unchanged");
    let mut report = Report { words, json: args.json.then(io::stdout), verdict: Verdict::Fine };
    for input in inputs {
        match input {
            Ok(input) => report.add(&input.name(), recover(&input, &recovery, &words)),
            Err(NoInput { name, trouble }) => report.add(&name, Err(trouble)),
        }
    }
    report.verdict
}

fn recover(input: &Input, recovery: &Recovery, words: &Words) -> Result<Outcome, Trouble> {
    match input {
        Input::Unrecovered(unrecovered) => unrecovered.recover(recovery, words),
        Input::Stdin | Input::Spool(_) | Input::Other(_) => recovery.run(input.clone()),
    }
}

/// What the flags ask for, if they agree with each other and with the files.
fn recovery(args: &RecoverArgs, inputs: &[Result<Input, NoInput>]) -> Result<Recovery, Trouble> {
    let target = args.output.as_deref().map(Target::of);
    if target.is_some() && inputs.len() > 1 {
        let what = format!("needs exactly one FILE, found {}", inputs.len());
        return Err(Trouble::new("-o", what).hint("without `-o`, each trace is written next to its spool"));
    }
    let has_stdin = inputs.iter().flatten().any(|input| *input == Input::Stdin);
    let is_to_stdout = target == Some(Target::Stdout) || (target.is_none() && has_stdin);
    if args.json && is_to_stdout {
        let trouble = Trouble::new("--json", "standard output is already used for the trace");
        return Err(trouble.hint("write the trace to a file: `-o PATH`"));
    }
    Ok(Recovery { target, force: args.force, keep: args.keep })
}

/// Says what becomes of each file, and keeps the worst of it.
struct Report {
    words: Words,
    /// Where JSON goes, if it is wanted and somebody reads it.
    json: Option<io::Stdout>,
    verdict: Verdict,
}

impl Report {
    fn add(&mut self, name: &str, outcome: Result<Outcome, Trouble>) {
        let verdict = match outcome {
            Ok(Outcome::NobodyReads) => Verdict::Fine,
            Ok(Outcome::Recovered(recovered)) => {
                self.words.recovered(&recovered);
                self.print(|out| recovered_line(out, &recovered)).max(verdict_of(&recovered))
            }
            Err(trouble) => {
                self.words.trouble(&trouble);
                self.print(|out| render_json::trouble(out, name, &trouble));
                Verdict::Trouble
            }
        };
        self.verdict = self.verdict.max(verdict);
    }

    /// When nobody reads the JSON any more, the remaining files are recovered all the same.
    fn print(&mut self, print: impl FnOnce(&mut io::Stdout) -> io::Result<()>) -> Verdict {
        let Some(out) = &mut self.json else {
            return Verdict::Fine;
        };
        let Err(cause) = print(out).and_then(|()| out.flush()) else {
            return Verdict::Fine;
        };
        self.json = None;
        if cause.kind() == io::ErrorKind::BrokenPipe {
            return Verdict::Fine;
        }
        self.words.trouble(&Trouble::new("standard output", format!("cannot write: {cause}")));
        Verdict::Trouble
    }
}

fn verdict_of(recovered: &Recovered) -> Verdict {
    match (recovered.leftovers.len(), recovered.summary.n_diagnostics) {
        (0, 0) => Verdict::Fine,
        (0, _) => Verdict::Finding,
        _ => Verdict::Trouble,
    }
}
