//! The flags of `path`.

use crate::flags::selection::parse_range;
use crate::flags::{CaptureArgs, InputArgs, ReportArgs};
use clap::ValueHint;
use ferrum_trace_analyze::{PathOptions, PathWindow, WhatIf};
use std::ops::Range;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ferrum-trace path trace.json
  ferrum-trace path --step slowest vllm.pt.trace.json.gz
  ferrum-trace path --what-if 'attention=0.5x,launch=0' trace.json
  ferrum-trace path -o with-path.json trace.json    # for Perfetto

Exit codes: 0 success, 1 a trace does not have the window, 2 error";

const LONG_EXAMPLES: &str = "\
Examples:
  ferrum-trace path trace.json
  ferrum-trace path --step slowest vllm.pt.trace.json.gz
  ferrum-trace path --what-if 'attention=0.5x,launch=0' trace.json
  ferrum-trace path -o with-path.json trace.json    # for Perfetto
  ferrum-trace path --time 1.5s..2s trace.json
  ferrum-trace path --request 42 trace.json
  ferrum-trace path --what-if 'rank3=rank0' merged.json
  ferrum-trace path --json trace.json | jq '.bound'

The path is a chain of pieces without gap or overlap. Each piece is there because
the next one had to wait for it:
  host work                   a thread works, by its innermost span
  device work                 a kernel or a copy runs
  launch delay                from the begin of the call to the start of the kernel
  between kernels             the stream goes on to the next kernel
  waiting for a stream, copy  the call returns after the work that it waited for
  waiting for a lock          a span that acquires a lock
  waiting for another thread  between a message and the work that it starts
  waiting for another rank    between the last rank's begin and the collective
  unexplained idle time       nothing in the file explains it
  outside the file            the cause is not in the file
docs/path.md has the definitions. Columns:
  path      time on the path
  %         of the path without what is outside the file
  drag      time that the window would be shorter without it; less than its time if
            something else takes nearly as long
  slack     time by which work beside the path can take longer without any effect
  steps     steps on whose path it is

The names of --what-if are categories such as `attention`, names of spans and
kernels (with * and ?), `launch` (calls and delays), `gaps` (idle time), `host`,
`device`, `copies` and ranks. FACTOR is `0`, `0.5x`, `2x` or another rank.

With --json, one object per file, each on a line, with times in nanoseconds:
  version      1; increased by changes that break readers
  file         the trace as given; `-` is standard input
  window       `kind` (`step`, `time`, `request` or `whole`), `step` (number from
               1, or null), `name`, `start_ns`, `duration_ns`
  bound        `by`, `share`, `unexplained_share`, `certain`, and `resources` (list
               of `resource`, `total_ns`); null if there is no path
  host_ns      host work on the path
  device_ns    device work on the path
  outside_ns   time on the path whose cause is outside the file
  host_share   share of host work in the path without `outside_ns`
  device_share the same for device work
  kinds        time by kind: `kind`, `count`, `total_ns`
  operations   time by kind and name: also `name` (or null) and `drag_ns` (null if
               not computed)
  categories   host and device work by category: `kind`, `category`, `count`,
               `total_ns`
  layers       time by layer: `layer` (or null), `count`, `total_ns`; empty if there
               are no layers
  steps        number of steps
  on_paths     the operations of the paths of all steps, with `steps`, the number of
               paths that they are on
  off_path     work beside the path: `name`, `device`, `count`, `total_ns`, `slack_ns`
  pieces       `start_ns`, `duration_ns`, `kind`, `name`, `process`, `track`
  what_if      the prediction of --what-if: `duration_ns`, `steps_p50_ns` and
               `steps_p50_before_ns` (median of all steps, or null), `bound`, `kinds`,
               `operations`; null without the flag
  capture      with --capture: `replays`, `kernels`, `matched`, …, as for `layers`
  losses       what could not be read: `count`, `bytes`, and `first`
  recorder     what the recorder counted: `dropped`, `overwritten_chunks`,
               `count`, and `recordings`; null if the trace says nothing
  notes        other remarks, as strings
For a file that could not be read, the object has only `version`, `file` and
`error`.

Exit codes:
  0    every file was read and has the window
  1    at least one file does not have the step, request or time, or nothing in it
       has a name of --what-if; a line on stderr says what the file has
  2    at least one file could not be read, or a flag is invalid
  130  interrupted; no partial file is left behind";

/// Show the critical path: what determines how long a step takes
///
/// Follows the work back from the end of a step: kernels, launches, threads, waits. Prints the time on this path by
/// operation, what the step is bound by, and how much time could be saved. With --what-if, predicts the duration after
/// a change. Reads traces of ferrum-trace, vLLM, SGLang and torch.profiler, also merged ones.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
pub(crate) struct PathArgs {
    #[command(flatten)]
    pub(crate) inputs: InputArgs,

    /// The step: its number from 1, `slowest` or `median`
    ///
    /// Without this and the other flags for the window, it is the median step, or the whole trace if it has no steps.
    #[arg(long, value_name = "STEP", value_parser = parse_step, group = "window")]
    pub(crate) step: Option<StepChoice>,

    /// A range of time instead of a step, counted from the start of the trace, e.g. `1.5s..2s`
    #[arg(long, value_name = "FROM..TO", value_parser = parse_time_range, group = "window")]
    pub(crate) time: Option<TimeRange>,

    /// A request instead of a step, from its arrival to its end
    #[arg(long, value_name = "ID", group = "window")]
    pub(crate) request: Option<String>,

    /// The whole trace instead of a step
    #[arg(long, group = "window")]
    pub(crate) whole: bool,

    #[command(flatten)]
    pub(crate) capture: CaptureArgs,

    /// Predict the duration after changes, e.g. `attention=0.5x,launch=0`
    #[arg(long, value_name = "NAME=FACTOR,...", value_parser = WhatIf::parse)]
    pub(crate) what_if: Option<WhatIf>,

    /// Write the trace with its path as a track and flows (one FILE only): .json or .pftrace
    ///
    /// The extensions `.gz` and `.zst` compress it. The events of the trace are repaired as by `repair`.
    #[arg(short, long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    /// Overwrite an existing file
    #[arg(short, long)]
    pub(crate) force: bool,

    /// Show this many operations
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,

    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// The step to analyze.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepChoice {
    Number(usize),
    Slowest,
    Median,
}

/// A range of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TimeRange(Range<i64>);

fn parse_step(text: &str) -> Result<StepChoice, String> {
    match text {
        "slowest" => Ok(StepChoice::Slowest),
        "median" => Ok(StepChoice::Median),
        _ => {
            let number = text.parse().ok().filter(|&number: &usize| number > 0);
            let expected = || format!("expected a number from 1, `slowest` or `median`, found `{text}`");
            number.map(StepChoice::Number).ok_or_else(expected)
        }
    }
}

fn parse_time_range(text: &str) -> Result<TimeRange, String> {
    parse_range(text).map(TimeRange)
}

impl PathArgs {
    /// Returns the options of the flags. `names_device` is true if the file names a device.
    pub(crate) fn options(&self, names_device: bool) -> PathOptions {
        PathOptions { window: self.window(), what_if: self.what_if.clone(), names_device }
    }

    fn window(&self) -> PathWindow {
        match (&self.step, &self.time, &self.request) {
            (Some(StepChoice::Number(number)), ..) => PathWindow::Step(*number),
            (Some(StepChoice::Slowest), ..) => PathWindow::Slowest,
            (Some(StepChoice::Median), ..) => PathWindow::Median,
            (_, Some(TimeRange(range)), _) => PathWindow::Time(range.clone()),
            (_, _, Some(id)) => PathWindow::Request(id.clone()),
            _ if self.whole => PathWindow::Whole,
            _ => PathWindow::Auto,
        }
    }
}
