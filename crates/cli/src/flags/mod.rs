//! Flags that several commands have.

mod by;
mod capture;
mod report;
pub(crate) mod selection;
mod share;

pub(crate) use by::{By, ByParser};
pub(crate) use capture::CaptureArgs;
pub(crate) use report::ReportArgs;
pub(crate) use selection::SelectionArgs;
pub(crate) use share::parse_share;

use clap::ValueHint;
use std::path::PathBuf;

/// The name of standard input and standard output.
pub(crate) const DASH: &str = "-";

/// The traces to read.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct InputArgs {
    /// Traces to read, or globs; `-` is stdin
    ///
    /// Chrome trace JSON (damaged files too), Perfetto traces, spools and vLLM's layerwise profiles, also compressed
    /// with gzip, zstd or zip. The format is detected from the content, not from the name. Globs that the shell has not
    /// expanded are expanded. If a trace is missing but its spool exists, it is recovered first.
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,
}

/// The file to write.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct OutputArgs {
    /// Write to this file (one FILE only); `-` is stdout
    ///
    /// The extensions `.gz` and `.zst` compress it. By default, the file is written next to the input, or to standard
    /// output if the input is standard input. The file appears under its name only when it is complete.
    #[arg(short, long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    /// Overwrite an existing file, even the input
    #[arg(short, long)]
    pub(crate) force: bool,
}
