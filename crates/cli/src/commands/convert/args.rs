//! The flags of `convert`.

use crate::flags::{InputArgs, OutputArgs, ReportArgs};
use crate::output::format::Format;

const EXAMPLES: &str = "\
Examples:
  ferrum-trace convert trace.json -o trace.pftrace    # format from the extension
  ferrum-trace convert --to speedscope 'runs/*.json'  # next to each trace
  ferrum-trace convert --to folded -o - trace.json | sort -nrk2 | head

Exit codes: 0 success, 2 error";

const LONG_EXAMPLES: &str = "\
Examples:
  ferrum-trace convert trace.json -o trace.pftrace    # format from the extension
  ferrum-trace convert --to speedscope 'runs/*.json'  # next to each trace
  ferrum-trace convert --to folded -o - trace.json | sort -nrk2 | head
  ferrum-trace convert trace.json -o flames.svg       # a flame graph
  ferrum-trace convert --to torch rank*.json          # one file per rank
  ferrum-trace convert --to vllm-layerwise trace.json # trace.layerwise.json
  ferrum-trace convert trace.json.spool -o trace.json.zst

Formats and their extensions; adding `.gz` or `.zst` compresses the file:
  chrome          .json             Chrome trace JSON object, fixed as by `repair`
  chrome-array                      the same as a list
  perfetto        .pftrace          Perfetto's protobuf
  speedscope      .speedscope.json  for speedscope.app
  folded          .folded, .txt     a line per stack, with its self time in ns
  svg             .svg              a flame graph
  csv             .csv              a row per slice, with its layer, step and parent
  torch           .pt.trace.json    as torch.profiler writes it, for
                                    HolisticTraceAnalysis; times in whole us
  vllm-layerwise  .layerwise.json   vLLM's profile: a tree of modules per step

With --json, one object per file, each on a line:
  version   1; increased by changes that break readers
  file      the trace as given; `-` is standard input
  output    the file that was written; `-` is standard output
  format    as above
  events    events that were read
  written   what was written, as far as the format has it: `events`, `slices`,
            `instants`, `counter_values`, `flow_points`
  moved     slices that overlap others of their thread and got rows of their own
  shift_ns  nanoseconds added to all times
  left      what the output cannot represent: `phases` (events by the letter of
            their phase), `unclosed` begins, `unopened` ends,
            `unbound_flow_points`, `odd_counter_values`, `cut_stacks`,
            `deep_frames` (of folded stacks and flame graphs),
            `fields` (around the events, too long to keep),
            `unlaunched` (kernels without a known launch),
            `outside_steps` (slices outside of steps, for vllm-layerwise)
  repaired  what was fixed on the way to Chrome JSON, as in `repair`
  losses    what could not be read: `count`, `bytes`, and `first`
  recorder  what the recorder counted: `dropped`, `overwritten_chunks`,
            `count`, and `recordings`; null if the trace says nothing
  notes     other remarks, as strings
For a file that could not be converted, the object has only `version`, `file`
and `error`.

Exit codes:
  0    every file was written; what it cannot represent is listed on stderr
  2    at least one file could not be read or written, or a flag is invalid
  130  interrupted; no partial file is left behind";

/// Write a trace in another format: Perfetto, torch, vLLM, speedscope, flame graph, CSV
///
/// Times are kept to the nanosecond. What the other format cannot represent is counted and reported on standard error.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
#[command(mut_arg("json", |arg| arg.help("Print a report as JSON on stdout, one object per file")))]
pub(crate) struct ConvertArgs {
    #[command(flatten)]
    pub(crate) inputs: InputArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    /// The format; by default, that of the output's extension
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) to: Option<Format>,

    /// Chrome JSON only: write every event unchanged, including those that viewers have problems with; only invalid
    /// JSON is fixed
    #[arg(long)]
    pub(crate) as_is: bool,

    /// csv only: write texts unchanged, also those that a spreadsheet takes for a formula
    #[arg(long)]
    pub(crate) raw_text: bool,

    /// torch only: the rank of the trace; by default, the one in the trace or the position of the file
    #[arg(long, value_name = "N")]
    pub(crate) rank: Option<u32>,

    /// torch only: the number of ranks; by default, the number of files
    #[arg(long, value_name = "N")]
    pub(crate) world_size: Option<u32>,

    /// torch only: keep nanoseconds; HolisticTraceAnalysis then shortens slices by up to 2 us
    #[arg(long)]
    pub(crate) keep_ns: bool,

    #[command(flatten)]
    pub(crate) report: ReportArgs,
}
