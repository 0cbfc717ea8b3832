//! The flags of `steps`.

use super::{InputArgs, SelectionArgs};
use clap::ValueEnum;
use ferrum_trace_analyze::StepsOptions;
use ferrum_trace_model::vocab;

const EXAMPLES: &str = "\
Examples:
  ferrum-trace steps trace.json
  ferrum-trace steps --phase decode --slowest 10 vllm.pt.trace.json.gz
  ferrum-trace steps --each --filter time=1s..2s trace.json

Exit codes: 0 fine, 1 a trace has no steps, 2 trouble";

const LONG_EXAMPLES: &str = "\
Examples:
  ferrum-trace steps trace.json
  ferrum-trace steps --phase decode --slowest 10 vllm.pt.trace.json.gz
  ferrum-trace steps --each --filter time=1s..2s trace.json
  ferrum-trace steps --json trace.json | jq '.groups[] | {phase, batch_from, p99_ns}'

What is a step, the outermost if several lie in each other:
  slices of category `step`, as ferrum-trace records them
  `execute_context_2(14721)_generation_3(3)` and its longer form, by vLLM
  `step[DECODE bs=64]` and its longer forms, by SGLang
  annotations of torch.profiler that begin with `prefill`, `decode` or `mixed`
  `ProfilerStep#12`, if there is none of these

The columns:
  batch     sequences in the step; ranges if a phase has more than 16 sizes
  mean, p50, p95, p99, max
            of the durations; percentiles by nearest rank
  prompt/s  tokens of prompts for each second of these steps
  gen/s     generated tokens for each second of these steps
  covered   the part of the durations that is in spans on the step's track
  device    the part of the device's span in which a kernel or a copy runs
On a narrow terminal some are left out. docs/steps-and-requests.md defines all.

With --json, one object a line and file, with times in nanoseconds:
  version      1; any change that breaks a reader raises it
  file         the trace as it was named; `-` is standard input
  count        steps
  sources      who marked them: `source`, `count`
  tracks       tracks that have steps
  nested       marks that lie in other steps, and are part of them
  wall_ns      from the start of the first step to the end of the last
  all          all steps as one group
  groups       by phase and batch: `phase`, `batch_from`, `batch_to`, `count`,
               `total_ns`, `mean_ns`, `min_ns`, `p50_ns`, `p95_ns`, `p99_ns`,
               `max_ns`, `prefill_tokens`, `decode_tokens`, `without_tokens`,
               `prefill_tokens_per_s`, `decode_tokens_per_s`,
               `unexplained_ns`, `coverage`, `device`
  gaps         time in no span: `after`, `before`, `count`, `total_ns`, `max_ns`
  idle_gaps    the same between kernels of a step
  attribution  how kernels and copies came to steps: `by_launch`, `by_flow`,
               `by_annotation`, `by_time`, `outside`, `outside_ns`; or null
  device_ops   kernels and copies by what they are for: `op`, `count`,
               `total_ns`; the op `other` is what no word fits
  device_other the names of these: `name`, `count`, `total_ns`
  host_ops     the same for self times of spans in steps
  host_other   the same
  slowest      `step`, `median` (both as in `steps`), `excess_ns`, `host` and
               `device` (lists of `what`, `name`, `here_ns`, `median_ns`,
               `count`, `median_count`), `gap`
  steps        with --each, every step; else an empty list
  losses       what could not be read: `count`, `bytes`, and `first`
  notes        what else is worth knowing, as texts
For a file that could not be read there is an object of `version`, `file` and
`error` only.

Exit codes:
  0    every file was read and has steps
  1    at least one file has no steps that the flags ask for
  2    at least one file could not be read, or the flags make no sense
  130  interrupted";

/// Show an engine's steps: how long, how fast, what explains them, what the slow ones do
///
/// By phase and batch: percentiles, tokens per second, and how much of the time spans explain; then what steps spend time on,
/// what is in no span, and what is different in the slowest. Reads traces of ferrum-trace, vLLM, SGLang and torch.profiler.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
pub struct StepsArgs {
    #[command(flatten)]
    pub inputs: InputArgs,

    /// Only steps of these phases
    #[arg(long = "phase", value_name = "PHASE,...", value_enum, value_delimiter = ',')]
    pub phases: Vec<StepPhase>,

    /// Look at so many of the slowest steps
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub slowest: usize,

    /// List every step
    #[arg(long)]
    pub each: bool,

    #[command(flatten)]
    pub selection: SelectionArgs,

    /// Print JSON, one object a file
    #[arg(long)]
    pub json: bool,

    /// Show all that could not be read, not only the first 20
    #[arg(short, long)]
    pub verbose: bool,
}

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StepPhase {
    Prefill,
    Decode,
    Mixed,
}

impl StepsArgs {
    /// What they ask for.
    pub fn options(&self) -> StepsOptions {
        let phase = |phase: &StepPhase| match phase {
            StepPhase::Prefill => vocab::Phase::Prefill,
            StepPhase::Decode => vocab::Phase::Decode,
            StepPhase::Mixed => vocab::Phase::Mixed,
        };
        StepsOptions { phases: self.phases.iter().map(phase).collect(), n_slowest: self.slowest }
    }
}
