//! The flags of `layers`.

use crate::flags::{By, ByParser, CaptureArgs, InputArgs, ReportArgs, SelectionArgs};
use clap::{ValueEnum, ValueHint};
use ferrum_trace_analyze::{Glob, LayerColumns, LayerSource, LayersOptions};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ferrum-trace layers trace.json
  ferrum-trace layers --phase 'prefill*' --phase 'decode*' trace.json
  ferrum-trace layers -o layers.svg trace.json      # also .png and .html

Exit codes: 0 success, 1 a trace has no such layers, 2 error";

const LONG_EXAMPLES: &str = "\
Examples:
  ferrum-trace layers trace.json
  ferrum-trace layers --phase 'prefill*' --phase 'decode*' trace.json
  ferrum-trace layers -o layers.svg trace.json      # also .png and .html
  ferrum-trace layers --layer-from tid --total trace.json
  ferrum-trace layers --by arg:m --filter cat=gemm trace.json
  ferrum-trace layers --json trace.json | jq '.phases[0].rows[] | {layer, self_ns}'

Without --layer-from, the first of these sources that yields more than one layer:
  arg   the argument `layer` of the slice or of a slice around it
  name  a name such as `layers.12.attn`, of the slice or of a slice around it
  tid   the id of the track, if the ids are consecutive numbers
A kernel that has no layer of its own has the layer of the slice that launched it.

With --json, one object per file, each on a line, with times in nanoseconds:
  version     1; increased by changes that break readers
  file        the trace as given; `-` is standard input
  layer_from  where the layer numbers come from: `arg`, `name` or `tid`
  by          the value of --by: `cat`, `name` or `arg:NAME`
  categories  the columns, largest self time first: categories, or the names or
              values of --by; slices without the argument are in `(no NAME)`
  phases      one for each --phase, or one for the whole trace: `phase` (the
              pattern, or null), `slices` (how many slices match it), `rows`
              and `without_layer`. A row has `layer`, `count`, `self_ns`,
              `total_ns` and `cells`, one per column with its name as `cat`
              (or `name` or `arg:NAME`), `count`, `self_ns` and `total_ns`;
              `without_layer` is such a list of cells
  device_without_layer  kernels and copies in no layer: `by_graph`,
              `outside_layers` and `unknown_launch`, each with `count` and
              `total_ns`
  capture     with --capture: `replays`, `kernels`, `matched`, `mismatches`, …;
              docs/json.md lists all
  losses      what could not be read: `count`, `bytes`, and `first`
  recorder    what the recorder counted: `dropped`, `overwritten_chunks`,
              `count`, and `recordings`; null if the trace says nothing
  notes       other remarks, as strings
For a file that could not be read, the object has only `version`, `file` and
`error`.

Exit codes:
  0    every file was read and has layers
  1    at least one file has no layers that match the flags, or lacks the argument
       of --by; a line on stderr says what was looked for and what the file has
  2    at least one file could not be read, or a flag is invalid
  130  interrupted; no partial file is left behind";

/// Show time by layer of the model and category
///
/// Prints a table of self times with a row per layer and a column per category, or per name or argument with --by. With
/// -o, also draws a bar chart.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
pub(crate) struct LayersArgs {
    #[command(flatten)]
    pub(crate) inputs: InputArgs,

    /// The source of the layer numbers
    #[arg(long, value_name = "SOURCE", value_enum, default_value = "auto")]
    pub(crate) layer_from: LayerFrom,

    /// Split the time of a layer by this key
    ///
    /// `cat` and `name` are category and name of the slices, and `arg:NAME` is the value of their argument NAME. Exits
    /// with 1 if no slice has the argument.
    #[arg(long, value_name = "KEY", value_parser = ByParser(KEYS), default_value = "cat")]
    pub(crate) by: By,

    /// Include only what lies within slices of this name; repeat it to compare phases side by side
    #[arg(long = "phase", value_name = "GLOB")]
    pub(crate) phases: Vec<String>,

    #[command(flatten)]
    pub(crate) selection: SelectionArgs,

    #[command(flatten)]
    pub(crate) capture: CaptureArgs,

    /// Sum durations instead of self times; nested slices count too
    #[arg(long)]
    pub(crate) total: bool,

    /// Draw a chart to this file (one FILE only): .svg, .png or .html
    #[arg(short, long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    /// Overwrite an existing chart
    #[arg(short, long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// The keys of `--by`, besides arguments.
const KEYS: &[By] = &[By::Cat, By::Name];

/// The source of the layer of a slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LayerFrom {
    #[default]
    Auto,
    Arg,
    Name,
    Tid,
}

impl LayersArgs {
    /// Returns the options of the flags.
    pub(crate) fn options(&self) -> LayersOptions {
        let source = match self.layer_from {
            LayerFrom::Auto => LayerSource::Auto,
            LayerFrom::Arg => LayerSource::Arg,
            LayerFrom::Name => LayerSource::Name,
            LayerFrom::Tid => LayerSource::Tid,
        };
        let columns = match &self.by {
            By::Name => LayerColumns::Name,
            By::Arg(name) => LayerColumns::Arg(name.clone()),
            _ => LayerColumns::Category,
        };
        LayersOptions { columns, source, phases: self.phases.iter().map(Glob::new).collect() }
    }
}
