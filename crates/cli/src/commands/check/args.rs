//! The flags of `check`.

use crate::flags::{InputArgs, ReportArgs};

const EXAMPLES: &str = "\
Examples:
  ferrum-trace check trace.json
  ferrum-trace check -v trace.json.gz           # with effects in viewers, and first occurrences
  ferrum-trace check --json 'runs/*.json' | jq '.findings[].code'

Exit codes: 0 no errors found, 1 errors found, 2 the check failed";

const LONG_EXAMPLES: &str = "\
Examples:
  ferrum-trace check trace.json
  ferrum-trace check -v trace.json.gz           # with effects in viewers, and first occurrences
  ferrum-trace check --json 'runs/*.json' | jq '.findings[].code'
  ferrum-trace check trace.json || ferrum-trace repair trace.json

Prints a line for each rule that the file violates: severity, code of the rule,
number of violations, affected viewers (P Perfetto, C chrome://tracing,
S speedscope, F Firefox Profiler, H HolisticTraceAnalysis), first places as byte
offsets in the uncompressed file, and what `repair` does about it.

With --json, one object per file, each on a line:
  version     1; increased by changes that break readers
  file        the trace as given; `-` is standard input
  kind        `Chrome trace JSON`, `Perfetto trace`, …
  containers  compression, outermost first: `gzip`, `zstd`, `zip`
  form        layout: `array`, `object` or `lines`
  events      number of events
  errors      number of findings that are errors
  findings    `code`, `severity` (`error` or `note`), `what`, `count`,
              `viewers` by name, `harm`, `repair`, and `first`, the first 5
              places as objects of `offset` and `excerpt`
  recorder    what the recorder counted: `dropped`, `overwritten_chunks`,
              `count`, and `recordings`; null if the trace says nothing
  notes       other remarks, as strings
For a file that could not be read, the object has only `version`, `file` and
`error`.

Exit codes:
  0    every file was read, and none has errors (notes do not count)
  1    every file was read, and some have errors: a viewer rejects the file, loses
       a part of it, or draws it wrong
  2    at least one file could not be read, or a flag is invalid
  130  interrupted";

const VERBOSE_HELP: &str = "Show the effect of each finding in viewers, and the text at its first places";

/// Find what viewers would reject, lose or draw wrong
///
/// Reads a trace as viewers do (Perfetto, chrome://tracing, speedscope, Firefox Profiler, HolisticTraceAnalysis) and
/// lists the problems that each of them would have. `repair` fixes them.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
#[command(mut_arg("verbose", |arg| arg.help(VERBOSE_HELP)))]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) inputs: InputArgs,

    #[command(flatten)]
    pub(crate) report: ReportArgs,
}
