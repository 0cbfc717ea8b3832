//! Compares two engines and prints the result.

use super::args::EnginesArgs;
use super::json::EnginesObject;
use super::report::{EnginesReport, SideReport};
use super::{markdown, text};
use crate::exit_status::ExitStatus;
use crate::os::interrupt;
use crate::render::messages::Messages;
use crate::render::printer::{Printer, print};
use ferrum_trace_analyze::BUILT_IN_RULES;

pub(crate) fn run(args: &EnginesArgs) -> ExitStatus {
    if args.print_rules {
        return print(BUILT_IN_RULES.as_bytes());
    }
    interrupt::install("nothing was written");
    let messages = Messages { verbose: args.verbose };
    let mut printer = Printer::new(messages, args.json);
    let report = match EnginesReport::of(args, &messages) {
        Ok(report) => report,
        Err(failure) => return printer.error(&failure.file, &failure.error),
    };
    let status = if args.json {
        printer.object(&EnginesObject::new(&report))
    } else if args.markdown {
        printer.text(&markdown::markdown(&report))
    } else {
        printer.text(&text::text(&report, args.verbose))
    };
    if !args.json {
        for side in report.sides.iter() {
            messages.losses(&side.label, &side.losses, &side.notes);
        }
    }
    report.sides.iter().fold(status, |status, side| status.max(report_empty(side, &messages)))
}

/// Reports that a trace has nothing to compare.
fn report_empty(side: &SideReport, messages: &Messages) -> ExitStatus {
    if side.profile.phases.iter().any(|phase| phase.times.total() > 0) {
        return ExitStatus::Success;
    }
    messages.missing(&side.label, "nothing to compare: expected kernels, copies or spans, found none");
    ExitStatus::Finding
}
