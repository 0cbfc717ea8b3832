//! Checks each trace.

use super::args::CheckArgs;
use super::json::CheckObject;
use super::text::text;
use crate::commands::each_trace::{OnClosedPipe, each_trace, expand};
use crate::exit_status::ExitStatus;
use crate::input::source::{Passes, Reopen, TraceFacts};
use crate::os::interrupt;
use crate::render::printer::Printer;
use crate::render::recorder;
use ferrum_trace_analyze::check::{Report, check};
use ferrum_trace_format::chrome::read::Losses;
use ferrum_trace_format::open::TraceFormat;

pub(crate) fn run(args: &CheckArgs) -> ExitStatus {
    interrupt::install("nothing was written");
    let (messages, is_verbose) = (args.report.messages(), args.report.verbose);
    let mut printer = Printer::new(messages, args.report.json);
    each_trace(expand(&args.inputs), Passes::Several, OnClosedPipe::Stop, &mut printer, |source, printer| {
        let passes = Reopen::new(source);
        let mut report = check(&|| passes.open()).map_err(|error| source.error(&error))?;
        let facts = passes.facts();
        if facts.as_ref().is_some_and(|facts| facts.kind == TraceFormat::Perfetto) {
            report = report.of_perfetto();
        }
        report.findings.sort_by_key(|finding| finding.rule.severity);
        let notes = facts.as_ref().map(|facts| notes(facts, &report)).unwrap_or_default();
        let printed = if printer.is_json {
            printer.object(&CheckObject::new(source, facts.as_ref(), &report, &notes))
        } else {
            let printed = printer.paragraph(&text(source, &report, is_verbose));
            messages.losses(&source.label, &Losses::default(), &notes);
            printed
        };
        Ok(printed.max(if report.has_errors() { ExitStatus::Finding } else { ExitStatus::Success }))
    })
}

fn notes(facts: &TraceFacts, report: &Report) -> Vec<String> {
    let mut notes = facts.notes();
    notes.extend(recorder::notes(&report.recordings));
    if facts.kind != TraceFormat::Json {
        notes.push(format!("a {} is checked after conversion to Chrome trace JSON", facts.kind.name()));
    }
    notes
}
