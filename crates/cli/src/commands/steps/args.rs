//! The flags of `steps`.

use crate::flags::{By, ByParser, CaptureArgs, InputArgs, ReportArgs, SelectionArgs};
use clap::ValueEnum;
use ferrum_trace_analyze::StepsOptions;
use ferrum_trace_model::vocab;

const EXAMPLES: &str = "\
Examples:
  ferrum-trace steps trace.json
  ferrum-trace steps --phase decode --slowest 10 vllm.pt.trace.json.gz
  ferrum-trace steps --each --filter time=1s..2s trace.json

Exit codes: 0 success, 1 a trace has no such steps, 2 error";

const LONG_EXAMPLES: &str = "\
Examples:
  ferrum-trace steps trace.json
  ferrum-trace steps --phase decode --slowest 10 vllm.pt.trace.json.gz
  ferrum-trace steps --each --filter time=1s..2s trace.json
  ferrum-trace steps --by arg:adapter,phase --filter arg:batch=8 trace.json
  ferrum-trace steps --by layer trace.json
  ferrum-trace steps --json trace.json | jq '.groups[] | {phase, batch_from, p99_ns}'

These are steps; of nested ones, the outermost:
  slices of category `step`, as ferrum-trace records them
  `execute_context_2(14721)_generation_3(3)` and its longer form, by vLLM
  `step[DECODE bs=64]` and its longer forms, by SGLang
  annotations of torch.profiler that begin with `prefill`, `decode` or `mixed`
  `ProfilerStep#12`, if there are none of the above

A step lasts from the begin of its mark to the end of the mark or of the last
kernel that it launched, whichever is later. The columns:
  batch     sequences in the step; ranges if a phase has more than 16 batch sizes
  mean, p50, p95, p99, max
            of the durations; percentiles by nearest rank
  prompt/s  prompt tokens per second. Time that overlapping steps share counts
            once, for the step whose result comes next
  gen/s     generated tokens per second, computed the same way
  covered   the share of the marks that spans on the step's track cover
  device    the part of the device's span in which a kernel or a copy runs
If there are devices, a second table splits the mean duration:
  host      the mark is open, and no device works for the step
  device    a device works for the step after its mark has ended
  both      both at once
  neither   the step waits for its turn on a device
Steps whose work on a device is not in the file have no rate.
On a narrow terminal some are hidden. docs/steps-and-requests.md has the definitions.

With --json, one object per file, each on a line, with times in nanoseconds:
  version      1; increased by changes that break readers
  file         the trace as given; `-` is standard input
  count        number of steps
  sources      kinds of marks: `source`, `count`
  tracks       number of tracks with steps
  nested       marks inside other steps, which are counted as part of those
  unfinished   steps that had not ended, which are in no figure
  wall_ns      from the start of the first step to the end of the last
  all          all steps as one group
  by           the keys of `groups`, as in --by
  groups       by these keys: `arg:NAME` if it is one, `phase`, `batch_from`, `batch_to`, `count`,
               `total_ns`, `mean_ns`, `min_ns`, `p50_ns`, `p95_ns`, `p99_ns`,
               `max_ns`, `prefill_tokens`, `decode_tokens`, `without_tokens`,
               `incomplete`, `result_ns`, `prefill_tokens_per_s`,
               `decode_tokens_per_s` (null: not known),
               `prefill_tokens_per_device_s`, `decode_tokens_per_device_s`,
               `host_ns`, `device_ns`, `both_ns`, `neither_ns`, `mark_ns`,
               `unexplained_ns`, `coverage`, `device`
  gaps         time in no span: `after`, `before`, `count`, `total_ns`, `max_ns`
  idle_gaps    the same between kernels of a step
  attribution  how kernels and copies came to steps: `by_launch`,
               `by_operation`, `by_flow`, `by_annotation`, `by_time`,
               `outside`, `outside_ns`; or null
  device_ops   kernels and copies by what they are for: `op`, `count`,
               `total_ns`; the op `other` has kernels of unknown purpose
  device_other the names of those: `name`, `count`, `total_ns`
  host_ops     the same for self times of spans in steps
  host_other   the same
  layers       with --by layer, `layer` (null for none), `count` and `total_ns`
               (self times of spans in steps), `device_count` and
               `device_total_ns` (kernels and copies); else an empty list
  slowest      `step`, `median` (both as in `steps`), `excess_ns`, `host` and
               `device` (lists of `what`, `name`, `here_ns`, `median_ns`,
               `count`, `median_count`), `gap`
  steps        with --each, every step; else an empty list
  capture      with --capture: `replays`, `kernels`, `matched`, `mismatches`, …;
               docs/json.md lists all
  losses       what could not be read: `count`, `bytes`, and `first`
  recorder     what the recorder counted: `dropped`, `overwritten_chunks`,
               `count`, and `recordings`; null if the trace says nothing
  trigger      why a dump was written: `reason`, `what`, `dump`,
               `time_ns`; null if it is no dump
  instants     `name`, `cat`, `count`, `first_ns`, `last_ns`
  notes        other remarks, as strings
For a file that could not be read, the object has only `version`, `file` and
`error`.

Exit codes:
  0    every file was read and has steps
  1    at least one file has no steps that match the flags, or none with a layer
       or an argument of --by; a line on stderr says what was looked for and what
       the file has
  2    at least one file could not be read, or a flag is invalid
  130  interrupted";

/// Show an engine's steps: durations, tokens per second, and why some are slow
///
/// Prints percentiles, tokens per second and the share of time covered by spans, by phase and batch size; then what
/// steps spend time on, time that no span covers, and how the slowest steps differ. Reads traces of ferrum-trace, vLLM,
/// SGLang and torch.profiler.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
pub(crate) struct StepsArgs {
    #[command(flatten)]
    pub(crate) inputs: InputArgs,

    /// Include only steps of these phases
    #[arg(long = "phase", value_name = "PHASE,...", value_enum, value_delimiter = ',')]
    pub(crate) phases: Vec<StepPhase>,

    /// Group steps by these keys; `layer` shows their time by layer instead of operation
    ///
    /// `phase` and `batch` are those of the steps, and `arg:NAME` is the argument NAME of their marks. The phase, batch
    /// size and token counts that other tools state in the name of a mark count as its arguments `phase`, `batch`,
    /// `prefill_tokens`, `decode_tokens` and `context_tokens`. Steps without an argument form a group such as `(no
    /// NAME)`. `layer` does not group steps: it replaces the table of operations by one of layers, found as in the
    /// command `layers`. Exits with 1 if no step has the argument or a layer.
    #[arg(
        long,
        value_name = "KEY,...",
        value_parser = ByParser(KEYS),
        value_delimiter = ',',
        default_value = "phase,batch"
    )]
    pub(crate) by: Vec<By>,

    /// Explain the N slowest steps
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) slowest: usize,

    /// List every step
    #[arg(long)]
    pub(crate) each: bool,

    #[command(flatten)]
    pub(crate) selection: SelectionArgs,

    #[command(flatten)]
    pub(crate) capture: CaptureArgs,

    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// The keys of `--by`, besides arguments.
const KEYS: &[By] = &[By::Phase, By::Batch, By::Layer];

/// The phase of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StepPhase {
    Prefill,
    Decode,
    Mixed,
}

impl StepPhase {
    /// Returns the phase of the vocabulary.
    pub(crate) fn vocab(self) -> vocab::Phase {
        match self {
            Self::Prefill => vocab::Phase::Prefill,
            Self::Decode => vocab::Phase::Decode,
            Self::Mixed => vocab::Phase::Mixed,
        }
    }
}

impl StepsArgs {
    /// Returns the options of the flags. `names_device` is true if the file names a device.
    pub(crate) fn options(&self, names_device: bool) -> StepsOptions {
        StepsOptions {
            phases: self.phases.iter().map(|phase| phase.vocab()).collect(),
            n_slowest: self.slowest,
            names_device,
            by_layer: self.by.contains(&By::Layer),
        }
    }

    /// Returns the keys that steps are grouped by: those of `--by` without layers, or phase and batch if none is left.
    pub(crate) fn group_keys(&self) -> Vec<By> {
        let keys: Vec<By> = self.by.iter().filter(|by| **by != By::Layer).cloned().collect();
        if keys.is_empty() { vec![By::Phase, By::Batch] } else { keys }
    }

    /// Returns the arguments that `--by` and `--filter` need.
    pub(crate) fn arg_names(&self) -> impl Iterator<Item = &str> {
        self.by.iter().filter_map(By::arg).chain(self.selection.arg_names())
    }
}
