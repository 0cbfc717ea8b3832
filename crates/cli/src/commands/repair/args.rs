//! The flags of `repair`.

use crate::flags::{InputArgs, OutputArgs, ReportArgs};

const EXAMPLES: &str = "\
Examples:
  ferrum-trace repair trace.json                     # writes trace.repaired.json
  ferrum-trace repair trace.json -o fixed.json.gz
  ferrum-trace repair --force -o trace.json trace.json

Exit codes: 0 success, whether or not anything was repaired; 2 error";

const LONG_EXAMPLES: &str = "\
Examples:
  ferrum-trace repair trace.json                     # writes trace.repaired.json
  ferrum-trace repair trace.json -o fixed.json.gz
  ferrum-trace repair --force -o trace.json trace.json
  curl -s https://host/trace.json.gz | ferrum-trace repair - > trace.json

With --json, one object per file, each on a line:
  version      1; increased by changes that break readers
  file         the trace as given; `-` is standard input
  output       the file that was written; `-` is standard output
  events       events that were read
  written      events that were written, including names of new threads
  repaired     fixes by rule, as objects of `code`, `count`, `what`, `repair` and
               `first`, as in `check`
  left_out     the same for events that were dropped; these are in `repaired` too
  shift_ns     nanoseconds subtracted from each time
  fields_lost  fields of the object around the events that were dropped
  args_lost    ends whose arguments could not be kept
  recorder     what the recorder counted: `dropped`, `overwritten_chunks`,
               `count`, and `recordings`; null if the trace says nothing
  notes        other remarks, as strings
For a file that could not be repaired, the object has only `version`, `file`
and `error`.

Exit codes:
  0    every file was written, whether or not anything had to be fixed
  2    at least one file could not be read or written, or a flag is invalid
  130  interrupted; no partial file is left behind";

/// Write a repaired copy of a trace that viewers load completely
///
/// Closes open slices, skips broken parts, moves overlapping slices to rows of their own, and fixes whatever else
/// `check` finds. Writes an object with a list `traceEvents`. The changes are listed on standard error.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
#[command(mut_arg("json", |arg| arg.help("Print the changes as JSON on stdout, one object per file")))]
#[command(mut_arg("verbose", |arg| arg.help("Show the first places of each change")))]
pub(crate) struct RepairArgs {
    #[command(flatten)]
    pub(crate) inputs: InputArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten)]
    pub(crate) report: ReportArgs,
}
