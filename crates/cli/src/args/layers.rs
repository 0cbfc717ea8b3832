//! The flags of `layers`.

use super::{InputArgs, SelectionArgs};
use clap::{ValueEnum, ValueHint};
use ferrum_trace_analyze::{Glob, LayerSource, LayersOptions};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ferrum-trace layers trace.json
  ferrum-trace layers --phase 'prefill*' --phase 'decode*' trace.json
  ferrum-trace layers -o layers.svg trace.json      # also .png and .html

Exit codes: 0 fine, 2 trouble";

const LONG_EXAMPLES: &str = "\
Examples:
  ferrum-trace layers trace.json
  ferrum-trace layers --phase 'prefill*' --phase 'decode*' trace.json
  ferrum-trace layers -o layers.svg trace.json      # also .png and .html
  ferrum-trace layers --layer-from tid --total trace.json
  ferrum-trace layers --json trace.json | jq '.phases[0].rows[] | {layer, self_ns}'

Without --layer-from, the first of these that tells of more than one layer:
  arg   the argument `layer` of a slice, or of one that it lies in
  name  names such as `layers.12.attn`, of a slice or of one that it lies in
  tid   the id of the track, if these are consecutive numbers

With --json, one object a line and file, with times in nanoseconds:
  version     1; any change that breaks a reader raises it
  file        the trace as it was named; `-` is standard input
  layer_from  what told the layers: `arg`, `name` or `tid`
  categories  the columns, that with the most self time first
  phases      one for each --phase, or one for all of the trace: `phase` (the
              pattern, or null), `slices` (how many slices match it), `rows`
              and `without_layer`. A row has `layer`, `count`, `self_ns`,
              `total_ns` and `cells`, an object a category with `cat`, `count`,
              `self_ns` and `total_ns`; `without_layer` is such a list of cells
  losses      what could not be read: `count`, `bytes`, and `first`
  notes       what else is worth knowing, as texts
For a file that could not be read there is an object of `version`, `file` and
`error` only.

Exit codes:
  0    every file was read; what could not be read of one is told on stderr
  2    at least one file could not be read, or has no layers, or the flags make
       no sense
  130  interrupted; no half file is left behind";

/// Show time by layer of the model and category
///
/// A table of self times, a row a layer and a column a category, and with -o a picture of it: a bar a layer.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
pub struct LayersArgs {
    #[command(flatten)]
    pub inputs: InputArgs,

    /// What tells the layer of a slice
    #[arg(long, value_name = "SOURCE", value_enum, default_value = "auto")]
    pub layer_from: LayerFrom,

    /// Only what lies within slices of this name; several are shown side by side
    #[arg(long = "phase", value_name = "GLOB")]
    pub phases: Vec<String>,

    #[command(flatten)]
    pub selection: SelectionArgs,

    /// Sum durations, not self times: slices that lie in each other both count
    #[arg(long)]
    pub total: bool,

    /// Write a picture here (one FILE only): .svg, .png or .html
    #[arg(short, long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// Replace a picture that exists already
    #[arg(short, long)]
    pub force: bool,

    /// Print JSON, one object a file
    #[arg(long)]
    pub json: bool,

    /// Show all that could not be read, not only the first 20
    #[arg(short, long)]
    pub verbose: bool,
}

/// What tells the layer of a slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LayerFrom {
    #[default]
    Auto,
    Arg,
    Name,
    Tid,
}

impl LayersArgs {
    /// What they ask for.
    pub fn options(&self) -> LayersOptions {
        let source = match self.layer_from {
            LayerFrom::Auto => LayerSource::Auto,
            LayerFrom::Arg => LayerSource::Arg,
            LayerFrom::Name => LayerSource::Name,
            LayerFrom::Tid => LayerSource::Tid,
        };
        LayersOptions { source, phases: self.phases.iter().map(Glob::new).collect() }
    }
}
