//! `repair`: a trace that viewers take whole.

use super::args::RepairArgs;
use super::json::RepairObject;
use crate::commands::each_trace::{OnClosedPipe, each_trace, expand};
use crate::exit_status::ExitStatus;
use crate::input::source::{Passes, Source};
use crate::os::interrupt;
use crate::output::output_writer::OutputWriter;
use crate::output::target::Target;
use crate::render::changes::push_changes;
use crate::render::messages::Messages;
use crate::render::printer::Printer;
use crate::render::recorder;
use crate::render::table::clean;
use crate::render::units::{count, number};
use ferrum_trace_analyze::repair::{Changes, RepairOptions, repair};
use ferrum_trace_format::chrome::read::Losses;

pub fn run(args: &RepairArgs) -> ExitStatus {
    let messages = Messages { verbose: args.verbose };
    let inputs = expand(&args.inputs);
    let making = match OutputWriter::new(&inputs, &args.output, args.json) {
        Ok(making) => making,
        Err(error) => return messages.refuse(&error),
    };
    interrupt::install("no partial file is left behind");
    let mut printer = Printer::new(messages, args.json);
    each_trace(inputs, Passes::Several, OnClosedPipe::Continue, &mut printer, |source, printer| {
        let target = making.target(source, "repaired.json");
        let made = making.make(source, &target, |output| {
            repair(&|| source.open_boxed(), output, &RepairOptions::default()).map_err(|error| error.to_string())
        })?;
        let Some(changes) = made else { return Ok(ExitStatus::Success) };
        let notes = [source.facts().notes(), recorder::notes(&changes.recordings)].concat();
        messages.say(&text(source, &target, &changes, args.verbose));
        messages.losses(&source.label, &Losses::default(), &notes);
        Ok(if args.json {
            printer.object(&RepairObject::new(source, &target, &changes, &notes))
        } else {
            ExitStatus::Success
        })
    })
}

fn text(source: &Source, target: &Target, changes: &Changes, is_verbose: bool) -> String {
    let (name, output) = (clean(&source.label), target.label());
    let (read, written) = (count(changes.n_read, "event"), number(changes.n_written));
    let mut text = format!("{name}: {read} read, {written} written to {output}");
    if changes.is_empty() {
        text.push_str("; no changes needed\n");
        return text;
    }
    text.push_str("; changed:\n");
    push_changes(&mut text, changes, is_verbose);
    text
}
