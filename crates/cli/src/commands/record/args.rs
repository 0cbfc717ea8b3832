//! The flags of `record`.

use crate::flags::ReportArgs;
use clap::ValueHint;
use clap::builder::{NonEmptyStringValueParser, TypedValueParser};
use ferrum_trace_model::settings::{Categories, Extent, SettingError, Window, is_off, parse_triggers, read_limit};
use std::ffi::OsString;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ferrum-trace record -- ./engine --model m.gguf    # writes trace.json and summarizes it
  ferrum-trace record -o run.pftrace -- torchrun --nproc-per-node 8 serve.py
  ferrum-trace record --ring 64MiB --open -- ./engine
  ferrum-trace record --window steps=100..120 -- ./engine

Exit codes: the program's, or 128 + N after signal N; 2 error; 126 and 127 program not started";

const LONG_EXAMPLES: &str = "\
Examples:
  ferrum-trace record -- ./engine --model m.gguf    # writes trace.json and summarizes it
  ferrum-trace record -o run.pftrace -- torchrun --nproc-per-node 8 serve.py
  ferrum-trace record --ring 64MiB --open -- ./engine
  ferrum-trace record --window steps=100..120 -- ./engine
  ferrum-trace record --wait 60 -- ./engine --daemon
  ferrum-trace record --json -- ./engine | tail -n 1 | jq .processes

Variables set for the program:
  FERRUM_TRACE_OUT         a file per process, in a folder next to the output
  FERRUM_TRACE_RING        the value of --ring
  FERRUM_TRACE_WINDOW      the value of --window
  FERRUM_TRACE_LIMIT       the value of --limit
  FERRUM_TRACE_CATEGORIES  the value of --categories
  FERRUM_TRACE_TRIGGER     the value of --trigger
Without its flag, a variable keeps its value. Flags are checked before the
program is started. The program reports values of other variables that the
recorder does not understand on standard error.

Signals: INT, TERM, HUP, QUIT, USR1 and USR2 are forwarded to the program, and
this command ends after it. Signals of the terminal (Ctrl-C) reach the program
directly and are not forwarded. Ignored signals stay ignored (`nohup`).

Standard input, output and error belong to the program. This command prints its
report after the program has ended: on standard output if that is a terminal, on
standard error otherwise.

With --json, one object on the last line of standard output:
  version    1; increased by changes that break readers
  program    the program and its arguments
  code       its exit code, or null
  signal     the signal that ended it, or null
  output     the trace that was written, or null
  clock_error_ns  the largest possible error between times of different processes;
             null if it is not known, or if there is only one process
  folder     the folder with the files of the processes if they were kept, or null
  processes  one object each, by pid: `pid`, `name`, `rank`, `ended`
             (`exit`, `signal`, `by itself`, `killed` or `still records`), `code`,
             `signal`, `threads`, `events`, `lost`, `recorder`
  dumps      files that flight recorders have written
  summary    the object that `summary --json` prints, or null
  error      the error message, or null

Exit codes:
  0    the program exited with 0, and its trace was written if there was one
  2    the program exited with 0, but the trace could not be written; or a flag is
       invalid, and the program was not started
  126  the program could not be started
  127  the program was not found
  128  plus N: the program was killed by signal N
  130  interrupted while the trace was written; the processes' files are kept
Any other code is the program's own.";

/// Run a program, record all its processes, merge their traces and summarize the result
///
/// For programs that link ferrum-trace. Every process of the tree writes a file of its own: children, forks, ranks,
/// programs that change their working directory. When the program has ended, all files are merged into one trace,
/// including those of killed processes. Processes that outlive the program and still record are waited for.
#[derive(Debug, Default, clap::Args)]
#[command(override_usage = "ferrum-trace record [OPTIONS] [--] PROGRAM [ARGUMENT]...")]
#[command(after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
#[command(mut_arg("json", |arg| arg.help("Print a report as JSON on the last line of stdout")))]
pub(crate) struct RecordArgs {
    /// Write the trace to this file
    ///
    /// The extension chooses the format, as with `convert`: `.json`, `.pftrace` and others, with `.gz` or `.zst` to
    /// compress it. An existing file is replaced when the trace is complete.
    #[arg(short, long, value_name = "PATH", default_value = "trace.json", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,

    /// Keep only the newest events, by size or time, e.g. `64MiB` or `30s`
    #[arg(long, value_name = "SIZE|TIME", value_parser = checked(is_ring))]
    pub(crate) ring: Option<String>,

    /// Record only a part of the run: `steps=100..120`, `first=10s`, `every=1000`, `requests=1/100`, `ranks=0`
    #[arg(long, value_name = "WINDOW", value_parser = checked(is_window))]
    pub(crate) window: Option<String>,

    /// Largest amount that each process may record, e.g. `512MiB`
    #[arg(long, value_name = "BYTES", value_parser = checked(is_limit))]
    pub(crate) limit: Option<String>,

    /// Record only these categories, e.g. `gemm,attention`
    #[arg(long, value_name = "LIST", value_parser = checked(is_categories))]
    pub(crate) categories: Option<String>,

    /// With --ring: dump the ring when this happens, e.g. `step>50ms`
    #[arg(long, value_name = "TRIGGER", value_parser = checked(is_trigger))]
    pub(crate) trigger: Option<String>,

    /// Longest wait for processes that outlive the program and still record
    ///
    /// After that, or after Ctrl-C, their events so far are used, and their files are kept.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub(crate) wait: u64,

    /// Keep the files of the individual processes too
    #[arg(short, long)]
    pub(crate) keep: bool,

    /// Open the trace in ui.perfetto.dev
    ///
    /// The trace does not leave this machine: the page in your browser fetches it from a server on the loopback
    /// address, which stops after that, or after two minutes.
    #[arg(long)]
    pub(crate) open: bool,

    /// Do not print a summary of the trace
    #[arg(long)]
    pub(crate) no_summary: bool,

    #[command(flatten)]
    pub(crate) report: ReportArgs,

    /// The program and its arguments
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true, value_hint = ValueHint::CommandWithArguments)]
    pub(crate) program: Vec<OsString>,
}

/// Returns a parser of values that are passed to the recorder as text, after `check` has accepted them.
fn checked(check: fn(&str) -> Result<(), SettingError>) -> impl TypedValueParser<Value = String> {
    NonEmptyStringValueParser::new().try_map(move |text| check(&text).map(|()| text))
}

fn is_ring(text: &str) -> Result<(), SettingError> {
    if is_off(text) { Ok(()) } else { text.parse::<Extent>().map(drop) }
}

fn is_window(text: &str) -> Result<(), SettingError> {
    text.parse::<Window>().map(drop)
}

fn is_limit(text: &str) -> Result<(), SettingError> {
    read_limit(text).map(drop)
}

fn is_categories(text: &str) -> Result<(), SettingError> {
    text.parse::<Categories>().map(drop)
}

fn is_trigger(text: &str) -> Result<(), SettingError> {
    let mut first = Ok(());
    if !is_off(text) {
        parse_triggers(text, |error| first = std::mem::replace(&mut first, Ok(())).and(Err(error)));
    }
    first
}

impl RecordArgs {
    /// Returns the environment variables of the given flags.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [
            ("FERRUM_TRACE_RING", &self.ring),
            ("FERRUM_TRACE_WINDOW", &self.window),
            ("FERRUM_TRACE_LIMIT", &self.limit),
            ("FERRUM_TRACE_CATEGORIES", &self.categories),
            ("FERRUM_TRACE_TRIGGER", &self.trigger),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::Command;
    use crate::commands::command_line::tests::{parsed, refusal};
    use clap::error::ErrorKind;

    fn record(flags: &str) -> RecordArgs {
        match parsed(&format!("ferrum-trace record {flags}")) {
            Ok(Command::Record(args)) => args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn all_flags_are_off_by_default() {
        let args = record("-- ./engine");
        assert_eq!(args.program, ["./engine"]);
        assert_eq!((args.output, args.wait), (PathBuf::from("trace.json"), 10));
        assert_eq!([args.keep, args.open, args.no_summary, args.report.json, args.report.verbose], [false; 5]);
        assert_eq!(record("-- ./engine").variables().count(), 0);
    }

    #[test]
    fn flags_after_the_program_belong_to_the_program() {
        let expected = ["./engine", "--json", "-o", "x", "--", "y"];
        for flags in ["-k -- ./engine --json -o x -- y", "-k ./engine --json -o x -- y"] {
            let args = record(flags);
            assert_eq!(args.program, expected, "{flags}");
            assert!(args.keep && !args.report.json);
        }
    }

    #[test]
    fn a_program_is_required() {
        assert_eq!(refusal("ferrum-trace record"), ErrorKind::MissingRequiredArgument);
        assert_eq!(refusal("ferrum-trace record -k --"), ErrorKind::MissingRequiredArgument);
    }

    #[test]
    fn a_mistyped_flag_is_not_a_program() {
        assert_eq!(refusal("ferrum-trace record --rnig 64MiB -- ./engine"), ErrorKind::UnknownArgument);
        assert_eq!(refusal("ferrum-trace record --wait soon -- ./engine"), ErrorKind::ValueValidation);
        assert_eq!(refusal("ferrum-trace record --ring= -- ./engine"), ErrorKind::InvalidValue);
    }

    #[test]
    fn a_value_that_the_recorder_would_reject_is_an_error() {
        for (flag, value) in [
            ("--ring", "nonsense"),
            ("--ring", "64Mibs"),
            ("--limit", "lots"),
            ("--window", "step=1"),
            ("--categories", "a*b"),
            ("--trigger", "panic,step>50"),
        ] {
            let error = parsed(&format!("ferrum-trace record {flag} {value} -- ./engine")).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ValueValidation);
            let words = error.to_string();
            assert!(words.contains(flag) && words.contains(value) && words.contains("expected "), "{words}");
            assert!(!words.contains("FERRUM_TRACE"), "{words}");
        }
        let args = record("--ring off --trigger off -- ./engine");
        assert_eq!((args.ring.as_deref(), args.trigger.as_deref()), (Some("off"), Some("off")));
    }

    #[test]
    fn flags_are_passed_as_variables() {
        let args = record("--ring 64MiB --window steps=1..2 --limit 1G --categories gemm --trigger step>5ms -- x");
        let expected = [
            ("FERRUM_TRACE_RING", "64MiB"),
            ("FERRUM_TRACE_WINDOW", "steps=1..2"),
            ("FERRUM_TRACE_LIMIT", "1G"),
            ("FERRUM_TRACE_CATEGORIES", "gemm"),
            ("FERRUM_TRACE_TRIGGER", "step>5ms"),
        ];
        assert_eq!(args.variables().collect::<Vec<_>>(), expected);
    }
}
