//! The flags of `record`.

use clap::ValueHint;
use clap::builder::NonEmptyStringValueParser;
use std::ffi::OsString;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ferrum-trace record -- ./engine --model m.gguf    # makes trace.json, and sums it up
  ferrum-trace record -o run.pftrace -- torchrun --nproc-per-node 8 serve.py
  ferrum-trace record --ring 64MiB --open -- ./engine
  ferrum-trace record --window steps=100..120 -- ./engine

The exit code is the program's, 128 + N after signal N; 2 trouble, 126 and 127 not started";

const LONG_EXAMPLES: &str = "\
Examples:
  ferrum-trace record -- ./engine --model m.gguf    # makes trace.json, and sums it up
  ferrum-trace record -o run.pftrace -- torchrun --nproc-per-node 8 serve.py
  ferrum-trace record --ring 64MiB --open -- ./engine
  ferrum-trace record --window steps=100..120 -- ./engine
  ferrum-trace record --wait 60 -- ./engine --daemon
  ferrum-trace record --json -- ./engine | tail -n 1 | jq .processes

What is set for the program:
  FERRUM_TRACE_OUT         a file for each process, in a folder beside the output
  FERRUM_TRACE_RING        as --ring says
  FERRUM_TRACE_WINDOW      as --window says
  FERRUM_TRACE_LIMIT       as --limit says
  FERRUM_TRACE_CATEGORIES  as --categories says
  FERRUM_TRACE_TRIGGER     as --trigger says
Without its flag, a variable stays as it is. Values that the recorder does not
understand are told by the program on standard error.

Signals: INT, TERM, HUP, QUIT, USR1 and USR2 go to the program, and this command
ends after it. What a terminal sends (Ctrl-C) reaches the program by itself and is
not sent again. Signals that are ignored stay ignored (`nohup`).

Standard input, output and error are the program's. What this command has to say
comes after the program's end, on standard output if that is a terminal, on
standard error otherwise.

With --json, one object on the last line of standard output:
  version    1; any change that breaks a reader raises it
  program    the program and its arguments
  code       what it exited with, or null
  signal     the signal that ended it, or null
  output     the trace that was written, or null
  clock_error_ns  by how much times of different processes may be off at most, or
             null if that is not known, or there is one process only
  folder     where the files of the processes are, if they were kept, or null
  processes  one object each, by their numbers: `pid`, `name`, `rank`, `ended`
             (`exit`, `signal`, `by itself`, `killed` or `still records`), `code`,
             `signal`, `threads`, `events`, `lost`
  dumps      files that flight recorders have written
  summary    as `summary --json` says it, or null
  error      what went wrong, or null

Exit codes:
  0    the program exited with 0, and its trace was written, if there was any
  2    the same, but the trace could not be written; or the flags make no sense
  126  the program could not be started
  127  the program was not found
  128  and N: the program was ended by signal N
  130  interrupted while the trace was written; the processes' files are kept
Any other code is the program's own.";

/// Run a program, record all its processes, merge what they recorded and sum it up
///
/// For programs that link ferrum-trace. Every process of the tree writes a file of its own, however it was started: children, forks,
/// ranks, programs that change their folder. When the program has ended, all are put together into one trace, also what killed
/// ones have left. A process that outlives the program and still records is waited for.
#[derive(Debug, Default, clap::Args)]
#[command(override_usage = "ferrum-trace record [OPTIONS] [--] PROGRAM [ARGUMENT]...")]
#[command(after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
pub struct RecordArgs {
    /// Write the trace here
    ///
    /// The ending chooses the form, as with `convert`: `.json`, `.pftrace` and others, and `.gz` or `.zst` to pack it. A file
    /// of that name is replaced when the trace is complete.
    #[arg(short, long, value_name = "PATH", default_value = "trace.json", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,

    /// Keep the newest only: a size or a time, as `64MiB` or `30s`
    #[arg(long, value_name = "SIZE|TIME", value_parser = NonEmptyStringValueParser::new())]
    pub ring: Option<String>,

    /// Record only then: `steps=100..120`, `first=10s`, `every=1000`, `requests=1/100`, `ranks=0`
    #[arg(long, value_name = "WINDOW", value_parser = NonEmptyStringValueParser::new())]
    pub window: Option<String>,

    /// How much each process may record, as `512MiB`
    #[arg(long, value_name = "BYTES", value_parser = NonEmptyStringValueParser::new())]
    pub limit: Option<String>,

    /// Record these categories only, as `gemm,attention`
    #[arg(long, value_name = "LIST", value_parser = NonEmptyStringValueParser::new())]
    pub categories: Option<String>,

    /// With --ring: write it out when this happens, as `step>50ms`
    #[arg(long, value_name = "TRIGGER", value_parser = NonEmptyStringValueParser::new())]
    pub trigger: Option<String>,

    /// How long to wait for processes that outlive the program and still record
    ///
    /// After that, or after Ctrl-C, what they have so far is taken, and their files are kept.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub wait: u64,

    /// Keep the files of the single processes too
    #[arg(short, long)]
    pub keep: bool,

    /// Open the trace in ui.perfetto.dev
    ///
    /// The trace does not leave this machine: the page in your browser fetches it from a server on the loopback address, which
    /// ends when that is done, or after two minutes.
    #[arg(long)]
    pub open: bool,

    /// Do not sum the trace up
    #[arg(long)]
    pub no_summary: bool,

    /// Say what was recorded as JSON, on the last line of stdout
    #[arg(long)]
    pub json: bool,

    /// Show all that could not be read, not only the first 20
    #[arg(short, long)]
    pub verbose: bool,

    /// The program and its arguments
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true, value_hint = ValueHint::CommandWithArguments)]
    pub program: Vec<OsString>,
}

impl RecordArgs {
    /// The variables that flags are passed on by.
    pub fn variables(&self) -> impl Iterator<Item = (&'static str, &str)> {
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
    use crate::args::Command;
    use crate::args::tests::{parsed, refusal};
    use clap::error::ErrorKind;

    fn record(flags: &str) -> RecordArgs {
        match parsed(&format!("ferrum-trace record {flags}")) {
            Ok(Command::Record(args)) => args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn without_flags_everything_is_off() {
        let args = record("-- ./engine");
        assert_eq!(args.program, ["./engine"]);
        assert_eq!((args.output, args.wait), (PathBuf::from("trace.json"), 10));
        assert_eq!([args.keep, args.open, args.no_summary, args.json, args.verbose], [false; 5]);
        assert_eq!(record("-- ./engine").variables().count(), 0);
    }

    #[test]
    fn what_follows_the_program_is_the_programs() {
        let expected = ["./engine", "--json", "-o", "x", "--", "y"];
        for flags in ["-k -- ./engine --json -o x -- y", "-k ./engine --json -o x -- y"] {
            let args = record(flags);
            assert_eq!(args.program, expected, "{flags}");
            assert!(args.keep && !args.json);
        }
    }

    #[test]
    fn a_program_there_must_be() {
        assert_eq!(refusal("ferrum-trace record"), ErrorKind::MissingRequiredArgument);
        assert_eq!(refusal("ferrum-trace record -k --"), ErrorKind::MissingRequiredArgument);
    }

    #[test]
    fn a_mistyped_flag_is_no_program() {
        assert_eq!(refusal("ferrum-trace record --rnig 64MiB -- ./engine"), ErrorKind::UnknownArgument);
        assert_eq!(refusal("ferrum-trace record --wait soon -- ./engine"), ErrorKind::ValueValidation);
        assert_eq!(refusal("ferrum-trace record --ring= -- ./engine"), ErrorKind::InvalidValue);
    }

    #[test]
    fn flags_are_passed_on_by_variables() {
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
