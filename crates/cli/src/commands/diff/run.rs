//! Compares two sides and prints the result.

use super::args::DiffArgs;
use super::engines::{self, EnginesArgs};
use super::json::DiffObject;
use super::picture::PictureOutput;
use super::report::DiffReport;
use super::text;
use crate::exit_status::ExitStatus;
use crate::os::interrupt;
use crate::render::messages::Messages;
use crate::render::printer::Printer;
use crate::sides::Side;
use crate::user_error::UserError;
use ferrum_trace_analyze::compare::FlameDiff;

pub(crate) fn run(args: &DiffArgs) -> ExitStatus {
    interrupt::install("nothing was written");
    if args.engines || args.print_rules {
        return engines::run(&args.engines_args());
    }
    let mut printer = Printer::new(args.messages(), args.json);
    let output = match args.output.as_deref().map(|path| PictureOutput::of(path, args.force)).transpose() {
        Ok(output) => output,
        Err(error) => return printer.error("diff", &error),
    };
    let report = match DiffReport::of(args) {
        Ok(report) => report,
        Err(error) => return printer.error("diff", &error),
    };
    if let Some(output) = output
        && let Err(error) = draw(&output, &report, &printer.messages)
    {
        return printer.error("diff", &error);
    }
    let status = if args.json {
        printer.object(&DiffObject::new(&report))
    } else if args.markdown {
        printer.text(&text::markdown(&report))
    } else {
        printer.text(&text::text(&report))
    };
    for note in report.base.notes.iter().chain(&report.new.notes).take(if args.verbose { usize::MAX } else { NOTES }) {
        printer.messages.print(&format!("{note}\n"));
    }
    status.max(outcome(&report))
}

/// Draws the picture of `--output`.
fn draw(output: &PictureOutput, report: &DiffReport, messages: &Messages) -> Result<(), UserError> {
    let flame = FlameDiff::of(&report.base.stacks, &report.new.stacks).filter(|_| !report.comparison.is_refused());
    let title = |side: &Side| {
        let names: Vec<&str> = side.runs.iter().flat_map(|run| &run.names).map(String::as_str).collect();
        let first = names.first().copied().unwrap_or_default().to_owned();
        if names.len() > 1 { format!("{first}, …") } else { first }
    };
    let (base, new) = (title(&report.base), title(&report.new));
    output.write(&report.comparison, (&base, &new), flame.as_ref(), messages)
}

/// Number of notes about traces that are listed without `--verbose`.
const NOTES: usize = 10;

fn outcome(report: &DiffReport) -> ExitStatus {
    if report.comparison.is_refused() {
        ExitStatus::Error
    } else if report.comparison.has_difference() {
        ExitStatus::Finding
    } else {
        ExitStatus::Success
    }
}

impl DiffArgs {
    fn engines_args(&self) -> EnginesArgs {
        EnginesArgs {
            files: self.base.iter().chain(&self.with).cloned().collect(),
            rules: self.rules.clone(),
            print_rules: self.print_rules,
            json: self.json,
            markdown: self.markdown,
            verbose: self.verbose,
        }
    }

    pub(super) fn messages(&self) -> Messages {
        Messages { verbose: self.verbose }
    }
}
