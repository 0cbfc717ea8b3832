//! `convert`: a trace in another format.

use super::args::ConvertArgs;
use super::json::ConvertObject;
use crate::commands::each_trace::{OnClosedPipe, each_trace, expand};
use crate::exit_status::ExitStatus;
use crate::input::paths::Input;
use crate::input::source::{Passes, Source};
use crate::os::interrupt;
use crate::output::format::Format;
use crate::output::output_writer::OutputWriter;
use crate::output::target::Target;
use crate::render::changes::push_changes;
use crate::render::messages::Messages;
use crate::render::printer::Printer;
use crate::render::recorder;
use crate::render::table::clean;
use crate::render::units::{count, number, time};
use crate::user_error::UserError;
use ferrum_trace_analyze::convert::{self, LayerwiseOptions, Left, Summary, TorchOptions};
use ferrum_trace_analyze::repair::{Changes, ChromeOptions, OutputForm, chrome};
use ferrum_trace_format::chrome::read::Losses;
use ferrum_trace_model::Recordings;
use std::fmt::Write as _;
use std::io::{self, IsTerminal};

/// What became of a trace.
pub enum Converted {
    Chrome(Changes),
    Other(Box<Summary>),
}

impl Converted {
    /// What could not be read.
    pub fn losses(&self) -> Losses {
        match self {
            // They are among what was repaired.
            Self::Chrome(_) => Losses::default(),
            Self::Other(summary) => summary.losses.clone(),
        }
    }

    /// Facts that the recorder states about the recordings in it.
    pub fn recordings(&self) -> &Recordings {
        match self {
            Self::Chrome(changes) => &changes.recordings,
            Self::Other(summary) => &summary.recordings,
        }
    }

    /// What else is worth knowing.
    fn notes(&self) -> Vec<String> {
        let Self::Other(summary) = self else { return Vec::new() };
        let mut notes = Vec::new();
        if summary.has_no_steps {
            notes.push("no steps found; the whole trace is treated as one step of the phase `prefill`".to_owned());
        }
        if let Some(phase) = summary.missing_phase {
            notes.push(format!(
                "the trace has no {phase} steps: a phase without time stands in for them, since vLLM's plot needs one"
            ));
        }
        let unknown =
            [("prompt_len", summary.has_unknown_prompts), ("tensor_parallel_size", summary.has_unknown_devices)];
        for (key, _) in unknown.into_iter().filter(|(_, is_unknown)| *is_unknown) {
            notes.push(format!("`{key}` is null: the trace does not tell it"));
        }
        notes
    }
}

pub fn run(args: &ConvertArgs) -> ExitStatus {
    let messages = Messages { verbose: args.verbose };
    let inputs = expand(&args.inputs);
    let making = OutputWriter::new(&inputs, &args.output, args.json);
    let (format, making) = match format_of(args).and_then(|format| Ok((format, making?))) {
        Ok(prepared) => prepared,
        Err(error) => return messages.refuse(&error),
    };
    interrupt::install("no partial file is left behind");
    // What has to be mended is known only when all has been read.
    let is_mended = matches!(format, Format::Chrome | Format::ChromeArray) && !args.as_is;
    let passes = if is_mended { Passes::Several } else { Passes::One };
    let mut printer = Printer::new(messages, args.json);
    let n_traces = inputs.len();
    let names: Vec<Option<String>> = inputs.iter().map(|input| input.as_ref().ok().map(Input::name)).collect();
    each_trace(inputs, passes, OnClosedPipe::Continue, &mut printer, |source, printer| {
        let place = names.iter().position(|name| name.as_ref() == Some(&source.name)).unwrap_or_default();
        let options = Options { args, place, n_traces };
        let target = making.target(source, format.ending());
        if making.is_by_itself() && source.path.as_deref().is_some_and(|path| target.is_at(path)) {
            let error = UserError::new(source.label.clone(), "the output would overwrite the input");
            return Err(error.hint("use `-o PATH` to write elsewhere"));
        }
        if format == Format::Perfetto && target == Target::Stdout && io::stdout().is_terminal() {
            let error = UserError::new("standard output", "will not write a binary format to a terminal");
            return Err(error.hint("use `-o PATH` to write to a file"));
        }
        let made = making.make(source, &target, |output| write(source, format, &options, output))?;
        let Some(converted) = made else { return Ok(ExitStatus::Success) };
        let (losses, mut notes) = (converted.losses(), source.facts().notes());
        notes.extend(recorder::notes(converted.recordings()));
        notes.extend(converted.notes());
        messages.say(&text(source, &target, &converted, args.verbose));
        messages.losses(&source.label, &losses, &notes);
        let object = || ConvertObject::new(source, &target, format, &converted, &notes);
        Ok(if args.json { printer.object(&object()) } else { ExitStatus::Success })
    })
}

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
    let of_torch =
        [("--rank", args.rank.is_some()), ("--world-size", args.world_size.is_some()), ("--keep-ns", args.keep_ns)];
    if let (Some((flag, _)), true) = (of_torch.iter().find(|(_, is_given)| *is_given), format != Format::Torch) {
        return Err(UserError::new(*flag, format!("is for `torch` only, not for `{}`", format.name())));
    }
    Ok(format)
}

/// How a trace is written.
struct Options<'a> {
    args: &'a ConvertArgs,
    /// The place of the trace among those that were named, and how many these are.
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

/// Writes a trace in another format, with nothing said about how.
#[cfg(unix)]
pub fn write_plainly(source: &Source, format: Format, output: &mut dyn io::Write) -> Result<Converted, String> {
    write(source, format, &Options { args: &ConvertArgs::default(), place: 0, n_traces: 1 }, output)
}

fn write(
    source: &Source,
    format: Format,
    options: &Options<'_>,
    output: &mut dyn io::Write,
) -> Result<Converted, String> {
    let as_is = options.args.as_is;
    let target = match format {
        Format::Chrome | Format::ChromeArray => {
            let form = if format == Format::Chrome { OutputForm::Object } else { OutputForm::Array };
            let changes = chrome(&|| source.open_boxed(), output, &ChromeOptions { form, as_is });
            return changes.map(Converted::Chrome).map_err(|error| error.to_string());
        }
        Format::Perfetto => convert::Target::Perfetto,
        Format::Speedscope => convert::Target::Speedscope,
        Format::Folded => convert::Target::Folded,
        Format::Svg => convert::Target::Svg,
        Format::Csv => convert::Target::Csv,
        Format::Torch => {
            return converted(convert::torch(&|| source.open_boxed(), output, &options.torch(source)));
        }
        Format::VllmLayerwise => {
            let model = LayerwiseOptions { model: source.name.clone() };
            return converted(convert::layerwise(&|| source.open_boxed(), output, &model));
        }
    };
    converted(convert::convert(target, &|| source.open_boxed(), output))
}

fn converted(summary: Result<Summary, convert::Error>) -> Result<Converted, String> {
    summary.map(|summary| Converted::Other(Box::new(summary))).map_err(|error| error.to_string())
}

fn text(source: &Source, target: &Target, converted: &Converted, is_verbose: bool) -> String {
    let (name, output) = (clean(&source.label), target.label());
    match converted {
        Converted::Chrome(changes) => {
            let (read, written) = (count(changes.n_read, "event"), number(changes.n_written));
            let mut text = format!("{name}: {read} read, {written} written to {output}");
            text.push_str(if changes.is_empty() { "\n" } else { "; mended:\n" });
            push_changes(&mut text, changes, is_verbose);
            text
        }
        Converted::Other(summary) => {
            let written = [
                (summary.n_slices, "slice"),
                (summary.n_instants, "instant"),
                (summary.n_counter_values, "counter value"),
                (summary.n_flow_points, "flow point"),
            ];
            let written = written.into_iter().filter(|(n, _)| *n > 0).map(|(n, thing)| count(n, thing));
            let written: Vec<String> = written.collect();
            let written = if written.is_empty() { "nothing".to_owned() } else { written.join(", ") };
            let mut text =
                format!("{name}: {} read; {written} written to {output}\n", count(summary.n_events, "event"));
            push_left(&mut text, summary);
            text
        }
    }
}

/// What is not in the output, or not as it was, a line each. Writing to a string cannot fail.
fn push_left(text: &mut String, summary: &Summary) {
    let Left {
        phases,
        unclosed,
        unopened,
        unbound_flow_points,
        odd_counter_values,
        fields,
        unlaunched,
        outside_steps,
        cut_stacks,
        deep_frames,
    } = &summary.left;
    let counts = [
        (summary.n_moved, "slice", "moved to a new row, because of overlaps with others of the thread"),
        (*unclosed, "begin", "without an end"),
        (*unopened, "end", "without a begin"),
        (*unbound_flow_points, "flow point", "dropped, without a slice or a begin"),
        (*odd_counter_values, "counter value", "dropped, not a number"),
        (*unlaunched, "slice", "of devices with an invented launch, because the trace does not say what launched them"),
        (*fields, "field", "around the events dropped because they are too long"),
        (*outside_steps, "slice", "dropped, outside of steps"),
        (*cut_stacks, "slice", "counted for the slice around it, because there are too many different stacks"),
        (*deep_frames, "slice", "counted as `(deeper frames)`: a stack has at most 512 frames"),
    ];
    for (n, thing, what) in counts.into_iter().filter(|(n, ..)| *n > 0) {
        let _ = writeln!(text, "  {} {what}", count(n, thing));
    }
    if summary.shift_ns != 0 {
        let _ = writeln!(text, "  all times are {} later than in the input", time(summary.shift_ns));
    }
    let left: Vec<String> = phase_counts(phases).map(|(phase, n)| format!("{} {phase}", number(n))).collect();
    if !left.is_empty() {
        let _ = writeln!(text, "  events of phases that the format cannot represent: {}", left.join(", "));
    }
}

/// Counts by the letter of the phase, without those that are zero.
pub fn phase_counts(phases: &[u64; 128]) -> impl Iterator<Item = (String, u64)> + '_ {
    let spelled = |phase: usize| match u8::try_from(phase) {
        Ok(0) | Err(_) => "without a phase".to_owned(),
        Ok(letter) => char::from(letter).escape_default().to_string(),
    };
    phases.iter().enumerate().filter(|(_, n)| **n > 0).map(move |(phase, &n)| (spelled(phase), n))
}
