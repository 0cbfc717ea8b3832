//! Models the operations of each trace.

use super::args::RooflineArgs;
use super::cpu;
use super::device::Devices;
use super::draw::PictureOutput;
use super::json::RooflineObject;
use super::report::RooflineReport;
use super::text::text;
use crate::commands::each_trace::{OnClosedPipe, each_trace, expand, report_missing};
use crate::exit_status::ExitStatus;
use crate::input::captures::Captures;
use crate::input::paths;
use crate::input::source::Passes;
use crate::os::interrupt;
use crate::render::printer::Printer;
use ferrum_trace_analyze::BUILT_IN_DEVICES;

pub(crate) fn run(args: &RooflineArgs) -> ExitStatus {
    let messages = args.report.messages();
    let mut printer = Printer::new(messages, args.report.json);
    let cpu = args.measure_cpu.then(cpu::measure);
    if args.print_devices {
        return match &cpu {
            Some(cpu) => printer.text(&cpu::as_table(cpu)),
            None => printer.text(BUILT_IN_DEVICES),
        };
    }
    let devices = match Devices::of(args, cpu) {
        Ok(devices) => devices,
        Err(error) => return messages.refuse(&error),
    };
    let inputs = expand(&args.inputs);
    let picture = match PictureOutput::of(args, paths::count(&inputs)) {
        Ok(picture) => picture,
        Err(error) => return messages.refuse(&error),
    };
    interrupt::install("no partial file is left behind");
    let captures = match Captures::of(&args.capture, &messages) {
        Ok(captures) => captures,
        Err(error) => return messages.refuse(&error),
    };
    each_trace(inputs, Passes::One, OnClosedPipe::Stop, &mut printer, |source, printer| {
        let report = RooflineReport::of(source, &devices, &captures)?;
        let mut status = ExitStatus::Success;
        if let Some(picture) = picture.as_ref().filter(|_| report.missing.is_none()) {
            picture.write(source, &report, &messages)?;
        }
        if printer.is_json {
            status = printer.object(&RooflineObject::new(source, &report));
        } else {
            if report.missing.is_none() {
                status = printer.paragraph(&text(source, &report, args.top, args.inner));
            }
            messages.losses(&source.label, &report.loaded.losses, &report.notes);
        }
        Ok(status.max(report_missing(&messages, source, report.missing.as_deref())))
    })
}
