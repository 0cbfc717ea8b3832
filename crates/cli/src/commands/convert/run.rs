//! Converts each trace.

use super::args::ConvertArgs;
use super::json::ConvertObject;
use super::report::Converted;
use super::text::text;
use crate::commands::each_trace::{OnClosedPipe, each_trace, expand};
use crate::exit_status::ExitStatus;
use crate::input::paths::{self, Input};
use crate::input::source::{Passes, Reopen, Source};
use crate::os::interrupt;
use crate::output::format::Format;
use crate::output::output_writer::OutputWriter;
use crate::output::target::Target;
use crate::render::printer::Printer;
use crate::render::recorder;
use crate::user_error::UserError;
use ferrum_trace_analyze::convert::{self, CsvTexts, LayerwiseOptions, Summary, TorchOptions};
use ferrum_trace_analyze::repair::{ChromeOptions, OutputForm, chrome};
use std::io::{self, IsTerminal};

pub(crate) fn run(args: &ConvertArgs) -> ExitStatus {
    let (messages, is_json) = (args.report.messages(), args.report.json);
    let inputs = expand(&args.inputs);
    let writer = OutputWriter::new(paths::count(&inputs), &args.output, is_json);
    let (format, writer) = match format_of(args).and_then(|format| Ok((format, writer?))) {
        Ok(prepared) => prepared,
        Err(error) => return messages.refuse(&error),
    };
    interrupt::install("no partial file is left behind");
    // The first pass finds what has to be repaired.
    let is_repaired = matches!(format, Format::Chrome | Format::ChromeArray) && !args.as_is;
    let passes = if is_repaired { Passes::Several } else { Passes::One };
    let mut printer = Printer::new(messages, is_json);
    let n_traces = inputs.len();
    let names: Vec<Option<String>> = inputs.iter().map(|input| input.as_ref().ok().map(Input::name)).collect();
    each_trace(inputs, passes, OnClosedPipe::Continue, &mut printer, |source, printer| {
        let place = names.iter().position(|name| name.as_ref() == Some(&source.name)).unwrap_or_default();
        let options = Options { args, place, n_traces };
        let target = writer.target(source.path.as_deref(), format.extension());
        if writer.is_default() && source.path.as_deref().is_some_and(|path| target.is_at(path)) {
            let error = UserError::new(source.label.clone(), "the output would overwrite the input");
            return Err(error.hint("use `-o PATH` to write elsewhere"));
        }
        if format == Format::Perfetto && target == Target::Stdout && io::stdout().is_terminal() {
            let error = UserError::new("standard output", "will not write a binary format to a terminal");
            return Err(error.hint("use `-o PATH` to write to a file"));
        }
        let passes = Reopen::new(source);
        let written =
            writer.write(&source.label, &target, |output| write(source, &passes, format, &options, output))?;
        let Some(converted) = written else { return Ok(ExitStatus::Success) };
        let (losses, mut notes) = (converted.losses(), passes.notes());
        notes.extend(recorder::notes(converted.recordings()));
        notes.extend(converted.notes());
        messages.print(&text(source, &target, &converted, args.report.verbose));
        messages.losses(&source.label, &losses, &notes);
        let object = || ConvertObject::new(source, &target, format, &converted, &notes);
        Ok(if is_json { printer.object(&object()) } else { ExitStatus::Success })
    })
}

/// Returns the output format, if the flags agree with it.
fn format_of(args: &ConvertArgs) -> Result<Format, UserError> {
    let hint =
        "use `--to FORMAT` with chrome, chrome-array, perfetto, speedscope, folded, svg, csv, torch or vllm-layerwise";
    let format = match (args.to, args.output.output.as_deref().map(Target::of)) {
        (Some(format), _) => format,
        (None, None) => return Err(UserError::new("convert", "needs a format or an output file").hint(hint)),
        (None, Some(Target::Stdout)) => return Err(UserError::new("-o -", "expected a format").hint(hint)),
        (None, Some(Target::File(path))) => {
            let unknown = || UserError::at(&path, "unknown file extension").hint(hint);
            Format::of(&path).ok_or_else(unknown)?
        }
    };
    if args.as_is && !matches!(format, Format::Chrome | Format::ChromeArray) {
        let what = format!("can keep events unchanged in Chrome JSON only, not in `{}`", format.name());
        return Err(UserError::new("--as-is", what));
    }
    if args.raw_text && format != Format::Csv {
        return Err(UserError::new("--raw-text", format!("is for `csv` only, not for `{}`", format.name())));
    }
    let of_torch =
        [("--rank", args.rank.is_some()), ("--world-size", args.world_size.is_some()), ("--keep-ns", args.keep_ns)];
    if let (Some((flag, _)), true) = (of_torch.iter().find(|(_, is_given)| *is_given), format != Format::Torch) {
        return Err(UserError::new(*flag, format!("is for `torch` only, not for `{}`", format.name())));
    }
    Ok(format)
}

/// Flags, and the position of the trace, from which the rank is derived.
struct Options<'a> {
    args: &'a ConvertArgs,
    /// Position of the trace among the inputs.
    place: usize,
    n_traces: usize,
}

impl Options<'_> {
    fn torch(&self, source: &Source) -> TorchOptions {
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        TorchOptions {
            rank: self.args.rank,
            rank_if_unknown: number(self.place),
            world_size: self.args.world_size.or((self.n_traces > 1).then_some(number(self.n_traces))),
            keeps_nanoseconds: self.args.keep_ns,
            name: source.name.clone(),
        }
    }
}

/// Writes a trace in another format, without any flags.
#[cfg(unix)]
pub(crate) fn write_plainly(source: &Source, format: Format, output: &mut dyn io::Write) -> Result<Converted, String> {
    write(
        source,
        &Reopen::new(source),
        format,
        &Options { args: &ConvertArgs::default(), place: 0, n_traces: 1 },
        output,
    )
}

fn write(
    source: &Source,
    passes: &Reopen<&Source>,
    format: Format,
    options: &Options<'_>,
    output: &mut dyn io::Write,
) -> Result<Converted, String> {
    let as_is = options.args.as_is;
    let target = match format {
        Format::Chrome | Format::ChromeArray => {
            let form = if format == Format::Chrome { OutputForm::Object } else { OutputForm::Array };
            let changes = chrome(&|| passes.open(), output, &ChromeOptions { form, as_is });
            return changes.map(Converted::Chrome).map_err(|error| error.to_string());
        }
        Format::Perfetto => convert::Target::Perfetto,
        Format::Speedscope => convert::Target::Speedscope,
        Format::Folded => convert::Target::Folded,
        Format::Svg => convert::Target::Svg,
        Format::Csv => convert::Target::Csv(if options.args.raw_text { CsvTexts::Raw } else { CsvTexts::Guarded }),
        Format::Torch => {
            return converted(convert::torch(&|| passes.open(), output, &options.torch(source)));
        }
        Format::VllmLayerwise => {
            let model = LayerwiseOptions { model: source.name.clone() };
            return converted(convert::layerwise(&|| passes.open(), output, &model));
        }
    };
    converted(convert::convert(target, &|| passes.open(), output))
}

fn converted(summary: Result<Summary, convert::Error>) -> Result<Converted, String> {
    summary.map(|summary| Converted::Other(Box::new(summary))).map_err(|error| error.to_string())
}
