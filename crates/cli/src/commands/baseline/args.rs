//! The flags of `baseline`.

use crate::sides::path_of_name;
use crate::user_error::UserError;
use clap::ValueHint;
use std::num::NonZeroUsize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ferrum-trace baseline save main --command './engine' --runs 10
  ferrum-trace baseline save main --from runs/main
  ferrum-trace baseline list
  ferrum-trace gate --base baseline:main --new './engine'

Exit codes: 0 success, 2 error, 130 interrupted";

const LONG_EXAMPLES: &str = "\
Examples:
  ferrum-trace baseline save main --command './engine' --runs 10
  ferrum-trace baseline save main --from runs/main
  ferrum-trace baseline list
  ferrum-trace baseline show main --json | jq .metrics
  ferrum-trace gate --base baseline:main --new './engine'

A baseline is a small file with the figures of each run, the time of steps by
operation, the machine, the build and the settings. It has neither traces nor the
name of the host. Baselines are in `.ferrum-trace/baselines` of the current
folder, and can be committed. `gate` refuses one of another machine or of other
settings. docs/gate.md describes the format.

With --json, `save`, `list` and `show` print one object for each baseline:
  version       1; increased by changes that break readers
  file          its file
  name          its name
  saved_unix_s  the time at which it was saved, in seconds since 1970
  machine       `cpu`, `cores`, `os`, `memory_bytes`
  build         `ferrum_trace` (the version of this command) and `program`
  settings      `command` (or null) and `variables` that change the recording
  runs          number of runs
  steps         number of their steps
  metrics       headline metrics: `name`, `unit`, `median`, `min`, `max` over runs
For a baseline that could not be read, the object has only `version`, `file` and
`error`.

Exit codes:
  0    success
  2    error: a command fails or records nothing, a trace or a baseline cannot be
       read, the file exists already, or a flag is invalid
  130  interrupted; nothing was saved";

/// Store the figures of runs, for later comparisons by `gate`
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
pub(crate) struct BaselineArgs {
    #[command(subcommand)]
    pub(crate) action: Action,
}

/// An action on baselines.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Action {
    /// Save the figures of traces, or of a command that is run several times
    Save(SaveArgs),
    /// List the baselines of the current folder
    List(ListArgs),
    /// Show the figures, machine, build and settings of a baseline
    Show(ShowArgs),
    /// Remove a baseline
    Remove(RemoveArgs),
}

/// The name of a baseline.
#[derive(Debug, clap::Args)]
pub(crate) struct NameArgs {
    /// Name of the baseline, or the path of its file
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
}

impl NameArgs {
    /// Returns the path of the baseline.
    pub(crate) fn path(&self) -> Result<PathBuf, UserError> {
        let path = PathBuf::from(&self.name);
        if path.is_file() { Ok(path) } else { path_of_name(&self.name) }
    }
}

/// Flags of `baseline save`.
#[derive(Debug, clap::Args)]
pub(crate) struct SaveArgs {
    /// Name of the baseline
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// Traces of the runs: files, globs, folders, spools
    #[arg(long, value_name = "TRACES", num_args = 1.., value_hint = ValueHint::AnyPath)]
    #[arg(required_unless_present = "command", conflicts_with = "command")]
    pub(crate) from: Vec<PathBuf>,

    /// Command to run and record, for the shell `sh`
    #[arg(long, value_name = "COMMAND")]
    pub(crate) command: Option<String>,

    /// Run the command N times
    #[arg(long, value_name = "N", default_value = "10")]
    pub(crate) runs: NonZeroUsize,

    /// Run the command N times before, without measuring it
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) warm_up_runs: usize,

    /// Version of the program [default: that of `git describe --always --dirty`]
    #[arg(long, value_name = "TEXT")]
    pub(crate) build: Option<String>,

    /// Write to this file [default: .ferrum-trace/baselines/NAME.json]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    /// Replace an existing baseline
    #[arg(short, long)]
    pub(crate) force: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Show the output of the command, and everything that could not be read
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// Flags of `baseline list`.
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Print JSON, one object per baseline
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of `baseline show`.
#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) name: NameArgs,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of `baseline remove`.
#[derive(Debug, clap::Args)]
pub(crate) struct RemoveArgs {
    #[command(flatten)]
    pub(crate) name: NameArgs,
}

#[cfg(test)]
mod tests {
    use crate::commands::command_line::tests::{parsed, refusal};
    use clap::error::ErrorKind;

    #[test]
    fn a_baseline_is_made_of_traces_or_of_a_command() {
        for line in
            ["save main --from a b", "save main --command x --runs 3 -o f.json", "list", "show main", "remove a"]
        {
            assert!(parsed(&format!("ferrum-trace baseline {line}")).is_ok(), "{line}");
        }
        assert_eq!(refusal("ferrum-trace baseline save main"), ErrorKind::MissingRequiredArgument);
        assert_eq!(refusal("ferrum-trace baseline save main --from a --command b"), ErrorKind::ArgumentConflict);
        assert_eq!(refusal("ferrum-trace baseline save main --command b --runs 0"), ErrorKind::ValueValidation);
    }
}
