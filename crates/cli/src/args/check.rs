//! The flags of `check`.

use super::InputArgs;

const EXAMPLES: &str = "\
Examples:
  ferrum-trace check trace.json
  ferrum-trace check -v trace.json.gz           # with what viewers do, and the first places
  ferrum-trace check --json 'runs/*.json' | jq '.findings[].code'

Exit codes: 0 fine, or notes only; 1 errors were found; 2 trouble";

const LONG_EXAMPLES: &str = "\
Examples:
  ferrum-trace check trace.json
  ferrum-trace check -v trace.json.gz           # with what viewers do, and the first places
  ferrum-trace check --json 'runs/*.json' | jq '.findings[].code'
  ferrum-trace check trace.json || ferrum-trace repair trace.json

A line for each rule that the file does not keep: how bad it is, the rule's
code, how often, which viewers suffer (P Perfetto, C chrome://tracing,
S speedscope, F Firefox Profiler, H HolisticTraceAnalysis), where first in
bytes from the start of the unpacked file, and what `repair` does about it.

With --json, one object a line and file:
  version     1; any change that breaks a reader raises it
  file        the trace as it was named; `-` is standard input
  kind        `Chrome trace JSON`, `Perfetto trace`, …
  containers  what is around it, from the outside: `gzip`, `zstd`, `zip`
  form        how it is built: `array`, `object` or `lines`
  events      how many there are
  errors      how many of the findings are errors
  findings    `code`, `severity` (`error` or `note`), `what`, `count`,
              `viewers` by name, `harm`, `repair`, and `first`, the first 5
              places as objects of `offset` and `excerpt`
  notes       what else is worth knowing, as texts
For a file that could not be read there is an object of `version`, `file` and
`error` only.

Exit codes:
  0    every file was read, and there are notes at most
  1    every file was read, and in some there are errors: some viewer refuses the
       file, or loses something of it, or draws it wrong
  2    at least one file could not be read, or the flags make no sense
  130  interrupted";

/// Say what viewers would refuse, lose or draw wrong
///
/// Reads a trace as viewers do (Perfetto, chrome://tracing, speedscope, Firefox Profiler, HolisticTraceAnalysis), and says
/// what each of them would stumble over. `repair` puts it right.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
pub struct CheckArgs {
    #[command(flatten)]
    pub inputs: InputArgs,

    /// Print JSON, one object a file
    #[arg(long)]
    pub json: bool,

    /// Say what viewers do about each finding, and show what stands at the first places
    #[arg(short, long)]
    pub verbose: bool,
}
