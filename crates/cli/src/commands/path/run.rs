//! Finds the critical path of each trace.

use super::args::PathArgs;
use super::json::PathObject;
use super::report::PathReport;
use super::text::text;
use super::trace_output::TraceOutput;
use crate::commands::each_trace::{OnClosedPipe, each_trace, expand, report_missing};
use crate::exit_status::ExitStatus;
use crate::input::captures::Captures;
use crate::input::paths;
use crate::input::source::Passes;
use crate::os::interrupt;
use crate::render::printer::Printer;
use crate::render::recorder;

pub(crate) fn run(args: &PathArgs) -> ExitStatus {
    let messages = args.report.messages();
    let inputs = expand(&args.inputs);
    let output = match TraceOutput::of(args, paths::count(&inputs)) {
        Ok(output) => output,
        Err(error) => return messages.refuse(&error),
    };
    interrupt::install("no partial file is left behind");
    let captures = match Captures::of(&args.capture, &messages) {
        Ok(captures) => captures,
        Err(error) => return messages.refuse(&error),
    };
    // The trace is read a second time to be copied.
    let passes = if output.is_some() { Passes::Several } else { Passes::One };
    let mut printer = Printer::new(messages, args.report.json);
    each_trace(inputs, passes, OnClosedPipe::Stop, &mut printer, |source, printer| {
        let report = PathReport::of(source, args, &captures)?;
        if let (Some(output), Ok(path)) = (&output, &report.path) {
            output.write(source, &report.loaded.trace, path, &messages)?;
        }
        let mut status = ExitStatus::Success;
        if printer.is_json {
            status = printer.object(&PathObject::new(source, &report));
        } else {
            let text = match &report.path {
                Ok(path) => text(source, &report, path, args.top),
                Err(_) => recorder::lines_of_nothing(&report.loaded),
            };
            if !text.is_empty() {
                status = printer.paragraph(&text);
            }
            messages.losses(&source.label, &report.loaded.losses, &report.notes);
        }
        Ok(status.max(report_missing(&messages, source, report.path.as_ref().err().map(String::as_str))))
    })
}
