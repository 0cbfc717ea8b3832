//! The flags of `repair`.

use super::{InputArgs, OutputArgs};

const EXAMPLES: &str = "\
Examples:
  ferrum-trace repair trace.json                     # makes trace.repaired.json
  ferrum-trace repair trace.json -o fixed.json.gz
  ferrum-trace repair --force -o trace.json trace.json

Exit codes: 0 fine, whatever was repaired; 2 trouble";

const LONG_EXAMPLES: &str = "\
Examples:
  ferrum-trace repair trace.json                     # makes trace.repaired.json
  ferrum-trace repair trace.json -o fixed.json.gz
  ferrum-trace repair --force -o trace.json trace.json
  curl -s https://host/trace.json.gz | ferrum-trace repair - > trace.json

With --json, one object a line and file:
  version      1; any change that breaks a reader raises it
  file         the trace as it was named; `-` is standard input
  output       the file that was written; `-` is standard output
  events       events that were read
  written      events that were written: names of new threads among them
  repaired     what was put right, by rule, as objects of `code`, `count`,
               `what`, `repair` and `first`, as `check` has them
  left_out     the same for events that were left out; they are in `repaired` too
  shift_ns     nanoseconds that were taken from each time
  fields_lost  fields of the object around the events that were left out
  args_lost    ends whose arguments could not be kept
  notes        what else is worth knowing, as texts
For a file that could not be repaired there is an object of `version`, `file`
and `error` only.

Exit codes:
  0    every file was written, whether or not something had to be put right
  2    at least one file could not be read or written, or the flags make no sense
  130  interrupted; no half file is left behind";

/// Write a trace that viewers take whole
///
/// Closes what is open, passes over what is broken, gives slices that overlap rows of their own, and puts right whatever else
/// `check` finds. It is written as an object with a list `traceEvents`. What was changed is said on standard error.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
pub struct RepairArgs {
    #[command(flatten)]
    pub inputs: InputArgs,

    #[command(flatten)]
    pub output: OutputArgs,

    /// Say what was changed as JSON on stdout, one object a file
    #[arg(long)]
    pub json: bool,

    /// Show the first places of what was changed
    #[arg(short, long)]
    pub verbose: bool,
}
