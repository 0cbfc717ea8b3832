//! Analyzes the layers of each trace.

use super::args::LayersArgs;
use super::draw::ChartOutput;
use super::json::LayersObject;
use super::report::LayersReport;
use super::text::text;
use crate::commands::each_trace::{OnClosedPipe, each_trace, expand, report_missing};
use crate::exit_status::ExitStatus;
use crate::input::captures::Captures;
use crate::input::paths;
use crate::input::source::Passes;
use crate::os::interrupt;
use crate::render::printer::Printer;

pub(crate) fn run(args: &LayersArgs) -> ExitStatus {
    let messages = args.report.messages();
    let inputs = expand(&args.inputs);
    let chart = match ChartOutput::of(args, paths::count(&inputs)) {
        Ok(chart) => chart,
        Err(error) => return messages.refuse(&error),
    };
    interrupt::install("no partial file is left behind");
    let captures = match Captures::of(&args.capture, &messages) {
        Ok(captures) => captures,
        Err(error) => return messages.refuse(&error),
    };
    let mut printer = Printer::new(messages, args.report.json);
    each_trace(inputs, Passes::One, OnClosedPipe::Stop, &mut printer, |source, printer| {
        let report = LayersReport::of(source, args, &captures)?;
        let mut status = ExitStatus::Success;
        if let Some(chart) = chart.as_ref().filter(|_| report.missing.is_none()) {
            chart.write(source, &report, &messages)?;
        }
        if printer.is_json {
            status = printer.object(&LayersObject::new(source, &report));
        } else {
            if report.missing.is_none() {
                status = printer.paragraph(&text(source, &report));
            }
            messages.losses(&source.label, &report.loaded.losses, &report.notes);
        }
        Ok(status.max(report_missing(&messages, source, report.missing.as_deref())))
    })
}
