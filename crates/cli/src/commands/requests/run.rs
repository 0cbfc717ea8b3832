//! Analyzes the requests of each trace.

use super::args::RequestsArgs;
use super::json::RequestsObject;
use super::report::RequestsReport;
use super::text as out;
use crate::commands::each_trace::{OnClosedPipe, each_trace, expand, report_missing};
use crate::exit_status::ExitStatus;
use crate::input::source::Passes;
use crate::os::interrupt;
use crate::render::printer::Printer;
use crate::render::recorder;

pub(crate) fn run(args: &RequestsArgs) -> ExitStatus {
    interrupt::install("nothing was written");
    let messages = args.report.messages();
    let mut printer = Printer::new(messages, args.report.json);
    each_trace(expand(&args.inputs), Passes::One, OnClosedPipe::Stop, &mut printer, |source, printer| {
        let report = RequestsReport::of(source, args)?;
        let mut status = ExitStatus::Success;
        if printer.is_json {
            status = printer.object(&RequestsObject::new(source, &report, args));
        } else {
            let is_shown = report.missing.is_none() || !report.explained.is_empty();
            let text = match is_shown {
                true => out::text(source, &report, args),
                false => recorder::lines_of_nothing(&report.loaded),
            };
            if !text.is_empty() {
                status = printer.paragraph(&text);
            }
            messages.losses(&source.label, &report.loaded.losses, &report.notes);
        }
        let status = status.max(report_missing(&messages, source, report.missing.as_deref()));
        Ok(status.max(report_missing(&messages, source, report.violation().map(String::as_str))))
    })
}
