//! Repairs each trace.

use super::args::RepairArgs;
use super::json::RepairObject;
use super::text::text;
use crate::commands::each_trace::{OnClosedPipe, each_trace, expand};
use crate::exit_status::ExitStatus;
use crate::input::paths;
use crate::input::source::{Passes, Reopen};
use crate::os::interrupt;
use crate::output::output_writer::OutputWriter;
use crate::render::printer::Printer;
use crate::render::recorder;
use ferrum_trace_analyze::repair::{RepairOptions, repair};
use ferrum_trace_format::chrome::read::Losses;

pub(crate) fn run(args: &RepairArgs) -> ExitStatus {
    let (messages, is_json) = (args.report.messages(), args.report.json);
    let inputs = expand(&args.inputs);
    let writer = match OutputWriter::new(paths::count(&inputs), &args.output, is_json) {
        Ok(writer) => writer,
        Err(error) => return messages.refuse(&error),
    };
    interrupt::install("no partial file is left behind");
    let mut printer = Printer::new(messages, is_json);
    each_trace(inputs, Passes::Several, OnClosedPipe::Continue, &mut printer, |source, printer| {
        let target = writer.target(source.path.as_deref(), "repaired.json");
        let passes = Reopen::new(source);
        let written = writer.write(&source.label, &target, |output| {
            repair(&|| passes.open(), output, &RepairOptions::default()).map_err(|error| error.to_string())
        })?;
        let Some(changes) = written else { return Ok(ExitStatus::Success) };
        let notes = [passes.notes(), recorder::notes(&changes.recordings)].concat();
        messages.print(&text(source, &target, &changes, args.report.verbose));
        messages.losses(&source.label, &Losses::default(), &notes);
        Ok(if is_json {
            printer.object(&RepairObject::new(source, &target, &changes, &notes))
        } else {
            ExitStatus::Success
        })
    })
}
