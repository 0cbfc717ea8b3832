//! Summarizes each trace.

use super::args::SummaryArgs;
use super::json::SummaryObject;
use super::no_match;
use super::report::SummaryReport;
use super::text::text;
use crate::commands::each_trace::{OnClosedPipe, each_trace, expand, report_missing};
use crate::exit_status::ExitStatus;
use crate::input::captures::Captures;
use crate::input::source::{Passes, Source};
use crate::os::interrupt;
use crate::render::messages::Messages;
use crate::render::printer::Printer;

pub(crate) fn run(args: &SummaryArgs) -> ExitStatus {
    interrupt::install("nothing was written");
    let messages = args.report.messages();
    let captures = match Captures::of(&args.capture, &messages) {
        Ok(captures) => captures,
        Err(error) => return messages.refuse(&error),
    };
    let mut printer = Printer::new(messages, args.report.json);
    each_trace(expand(&args.inputs), Passes::One, OnClosedPipe::Stop, &mut printer, |source, printer| {
        let report = SummaryReport::of(source, args, &captures)?;
        let status = if printer.is_json {
            printer.object(&SummaryObject::new(source, &report, args))
        } else {
            let status = printer.paragraph(&text(source, &report, &args.by));
            messages.losses(&source.label, &report.loaded.losses, &report.notes);
            status
        };
        let status = status.max(report_missing(&messages, source, report.missing.as_deref()));
        Ok(status.max(report_no_match(source, &report, args, &messages)))
    })
}

/// Reports if the flags select nothing.
fn report_no_match(source: &Source, report: &SummaryReport, args: &SummaryArgs, messages: &Messages) -> ExitStatus {
    if !report.is_empty() || args.selection.selection().is_everything() {
        return ExitStatus::Success;
    }
    messages.print(&no_match::text(source, &report.loaded.trace, &args.selection).unwrap_or_default());
    ExitStatus::Finding
}
