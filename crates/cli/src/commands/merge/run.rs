//! Merges the traces.

use super::args::MergeArgs;
use super::json::MergeObject;
use super::text;
use crate::commands::each_trace::expand;
use crate::exit_status::ExitStatus;
use crate::input::paths::InvalidInput;
use crate::input::source::{Passes, Reopen, Source};
use crate::os::interrupt;
use crate::output::format::Format;
use crate::output::output_writer::{stdout_is_used, write_to};
use crate::output::pending_file::Existing;
use crate::output::target::Target;
use crate::render::printer::Printer;
use crate::render::recorder;
use crate::render::table;
use crate::render::units::count;
use crate::user_error::UserError;
use ferrum_trace_analyze::merge::{Error, Input, MergeOptions, Merged, MergedForm, MergedInput, merge as merge_traces};
use ferrum_trace_analyze::rank_in;
use std::path::Path;
use std::sync::Arc;

pub(crate) fn run(args: &MergeArgs) -> ExitStatus {
    let messages = args.report.messages();
    let mut printer = Printer::new(messages, args.report.json);
    let inputs = expand(&args.inputs);
    let target = Target::of(&args.output);
    let form = match form_of(args, &target, inputs.len()) {
        Ok(form) => form,
        Err(error) => return messages.refuse(&error),
    };
    interrupt::install("no partial file is left behind");
    let mut sources = Vec::new();
    let mut status = ExitStatus::Success;
    for input in inputs {
        let source = input.map_err(|InvalidInput { name, error }| (name, error)).and_then(|input| {
            let name = input.name();
            Source::of(input, Passes::SeveralOfMany, &messages).map_err(|error| (name, error))
        });
        match source {
            Ok(source) => sources.push(Arc::new(Reopen::new(source))),
            Err((name, error)) => status = status.max(printer.error(&name, &error)),
        }
    }
    if status != ExitStatus::Success {
        return status;
    }
    let existing = Existing::of_force(args.force);
    let options = MergeOptions { align: args.align.into(), form };
    let merged = merge_sources(&sources, &args.ranks, &target, existing, &options);
    match merged {
        Ok(Some(merged)) => report(&sources, &target, &options, &merged, &mut printer),
        Ok(None) => ExitStatus::Success,
        Err((name, error)) => printer.error(&name.unwrap_or_else(|| target.name()), &error),
    }
}

/// Returns the output format, if the flags agree with it.
fn form_of(args: &MergeArgs, target: &Target, n_inputs: usize) -> Result<MergedForm, UserError> {
    if !args.ranks.is_empty() && args.ranks.len() != n_inputs {
        let what =
            format!("expected {}, one for each trace, found {}", count(n_inputs as u64, "rank"), args.ranks.len());
        return Err(UserError::new("--ranks", what));
    }
    let Target::File(path) = target else {
        if args.report.json {
            return Err(stdout_is_used());
        }
        return Ok(chrome(args));
    };
    match Format::of(path) {
        Some(Format::Chrome) => Ok(chrome(args)),
        Some(Format::Perfetto) if args.repair => {
            Err(UserError::new("--repair", "works with Chrome JSON only; Perfetto's format needs no repair"))
        }
        Some(Format::Perfetto) => Ok(MergedForm::Perfetto),
        _ => {
            let what = "expected an extension `.json` or `.pftrace`, optionally followed by `.gz` or `.zst`";
            Err(UserError::at(path, what)
                .hint("use `ferrum-trace convert` to convert the merged trace to other formats"))
        }
    }
}

fn chrome(args: &MergeArgs) -> MergedForm {
    if args.repair { MergedForm::ChromeRepaired } else { MergedForm::Chrome }
}

/// Merges traces into a file. Returns `None` if the reader has closed the pipe. An error has the name of the trace that
/// it is about, if any.
fn merge_sources(
    sources: &[Arc<Reopen<Source>>],
    ranks: &[u32],
    target: &Target,
    existing: Existing,
    options: &MergeOptions,
) -> Result<Option<Merged>, (Option<String>, UserError)> {
    let is_output = |source: &&Source| source.path.as_deref().is_some_and(|path| target.is_at(path));
    if let Some(source) = sources.iter().map(|passes| passes.source()).find(is_output) {
        let error = UserError::new(source.label.clone(), "is one of the inputs and cannot be the output");
        return Err((Some(source.name.clone()), error));
    }
    let inputs: Vec<Input> = sources
        .iter()
        .enumerate()
        .map(|(place, passes)| {
            let (source, passes) = (passes.source(), Arc::clone(passes));
            let open = Arc::new(move || passes.open());
            Input {
                name: source.name.clone(),
                rank: ranks.get(place).copied(),
                rank_if_unknown: source.path.as_deref().and_then(rank_of_file),
                open,
            }
        })
        .collect();
    let mut about = None;
    let merged = write_to(target, existing, |output| {
        merge_traces(&inputs, output, options).map_err(|error| match error {
            Error::Input { place, cause, .. } => {
                let source = sources[place].source();
                about = Some(source.name.clone());
                source.error(&cause)
            }
            other => UserError::new(target.label(), other.to_string()),
        })
    });
    merged.map_err(|error| (about, error))
}

/// Returns the rank in the name of a file.
fn rank_of_file(path: &Path) -> Option<u32> {
    rank_in(&path.file_name()?.to_string_lossy())
}

/// Prints the report.
fn report(
    sources: &[Arc<Reopen<Source>>],
    target: &Target,
    options: &MergeOptions,
    merged: &Merged,
    printer: &mut Printer,
) -> ExitStatus {
    let notes = |input: &MergedInput| {
        let mut notes = sources.get(input.place).map(|passes| passes.notes()).unwrap_or_default();
        notes.extend(recorder::notes(&input.recordings));
        notes
    };
    for input in &merged.inputs {
        printer.messages.losses(&input.name, &input.losses, &notes(input));
    }
    if printer.is_json {
        return printer.object(&MergeObject::new(target, options.form, merged, &notes));
    }
    let text = text::text(merged, target, table::width());
    if *target == Target::Stdout {
        // Standard output is used for the trace.
        printer.messages.print(&text);
        return ExitStatus::Success;
    }
    printer.text(&text)
}
