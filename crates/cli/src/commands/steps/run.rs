//! Analyzes the steps of each trace.

use super::args::StepsArgs;
use super::json::StepsObject;
use super::report::StepsReport;
use super::text as out;
use crate::commands::each_trace::{OnClosedPipe, each_trace, expand, report_missing};
use crate::exit_status::ExitStatus;
use crate::input::captures::Captures;
use crate::input::source::Passes;
use crate::os::interrupt;
use crate::render::printer::Printer;
use crate::render::recorder;

pub(crate) fn run(args: &StepsArgs) -> ExitStatus {
    interrupt::install("nothing was written");
    let messages = args.report.messages();
    let captures = match Captures::of(&args.capture, &messages) {
        Ok(captures) => captures,
        Err(error) => return messages.refuse(&error),
    };
    let mut printer = Printer::new(messages, args.report.json);
    each_trace(expand(&args.inputs), Passes::One, OnClosedPipe::Stop, &mut printer, |source, printer| {
        let report = StepsReport::of(source, args, &captures)?;
        let mut status = ExitStatus::Success;
        if printer.is_json {
            status = printer.object(&StepsObject::new(source, &report, args.each));
        } else {
            let text = match report.missing {
                None => out::text(source, &report, args.each),
                Some(_) => recorder::lines_of_nothing(&report.loaded),
            };
            if !text.is_empty() {
                status = printer.paragraph(&text);
            }
            messages.losses(&source.label, &report.loaded.losses, &report.notes);
        }
        let missing = report.missing.as_deref().or(report.missing_key.as_deref());
        Ok(status.max(report_missing(&messages, source, missing)))
    })
}
