//! The flags, and what each is called in the help: one file a command.

mod check;
mod convert;
mod layers;
mod merge;
#[cfg(unix)]
mod record;
mod recover;
mod repair;
mod requests;
mod selection;
mod steps;
mod summary;

pub use check::CheckArgs;
pub use convert::{ConvertArgs, Format};
pub use layers::{LayerFrom, LayersArgs};
pub use merge::MergeArgs;
#[cfg(unix)]
pub use record::RecordArgs;
pub use recover::RecoverArgs;
pub use repair::RepairArgs;
pub use requests::RequestsArgs;
pub use selection::SelectionArgs;
pub use steps::StepsArgs;
pub use summary::{By, SummaryArgs};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  ferrum-trace record -- ./engine       # run a program and summarize its trace
  ferrum-trace trace.json               # the same as `summary trace.json`
  ferrum-trace layers trace.json.gz     # time by layer and category
  ferrum-trace steps trace.json         # duration of the engine's steps, and its causes
  ferrum-trace requests trace.json      # time to first token, goodput, waiting times
  ferrum-trace convert trace.json -o trace.pftrace
  ferrum-trace merge rank*.json -o all.json
  ferrum-trace summary -h               # the flags of a command, in short
  ferrum-trace man summary | man -l -   # its full manual page

Exit codes: 0 success, 1 something was found or nothing matched, 2 error";

/// Record, analyze, check and convert traces of inference engines: Chrome trace JSON, Perfetto, ferrum-trace's own.
#[derive(Debug, Parser)]
#[command(name = "ferrum-trace", version, arg_required_else_help = true, after_help = EXAMPLES)]
#[command(override_usage = "ferrum-trace <COMMAND> [FLAGS] FILE...\n       ferrum-trace FILE...")]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,

    /// Print tables in full, however narrow the terminal is
    ///
    /// On a terminal, long names are cut and columns are hidden until a table fits. With this flag, or if the output is no
    /// terminal, tables have all columns and full names. Where there is no terminal, the variable `COLUMNS` can set a width.
    #[arg(long, global = true)]
    pub wide: bool,
}

/// One for each file in `cmd`.
#[derive(Debug, Subcommand)]
pub enum Command {
    #[cfg(unix)]
    Record(RecordArgs),
    Summary(SummaryArgs),
    Layers(LayersArgs),
    Steps(StepsArgs),
    Requests(RequestsArgs),
    Check(CheckArgs),
    Repair(RepairArgs),
    Convert(ConvertArgs),
    Merge(MergeArgs),
    Recover(RecoverArgs),
    /// Print a completion script for your shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell to generate the script for
        shell: Shell,
    },
    /// Print the manual page
    #[command(after_help = MAN_EXAMPLES)]
    Man {
        /// The command to print the page of
        command: Option<String>,
    },
}

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  source <(ferrum-trace completions bash)                 # in ~/.bashrc
  ferrum-trace completions fish | source                  # in config.fish
  ferrum-trace completions zsh > ~/.zfunc/_ferrum-trace   # if it is in fpath";

const MAN_EXAMPLES: &str = "\
Examples:
  ferrum-trace man recover | man -l -
  ferrum-trace man > /usr/local/share/man/man1/ferrum-trace.1";

/// The traces to read.
#[derive(Debug, Default, clap::Args)]
pub struct InputArgs {
    /// Traces to read, or globs; `-` is stdin
    ///
    /// Chrome trace JSON (damaged files too), Perfetto traces, spools and vLLM's layerwise profiles, also compressed with gzip,
    /// zstd or zip. The format is detected from the content, not from the name. Globs that the shell has not expanded are
    /// expanded. If a trace is missing but its spool exists, it is recovered first.
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::AnyPath)]
    pub files: Vec<PathBuf>,
}

/// Where what is made of a trace goes.
#[derive(Debug, Default, clap::Args)]
pub struct OutputArgs {
    /// Write to this file (one FILE only); `-` is stdout
    ///
    /// The extensions `.gz` and `.zst` compress it. By default, the file is written next to the input, or to standard output
    /// if the input is standard input. The file appears under its name only when it is complete.
    #[arg(short, long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// Overwrite an existing file, even the input
    #[arg(short, long)]
    pub force: bool,
}

/// Reads the command line, its first word being the program's name. Files without a command are summed up.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Args, clap::Error> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    let parsed = Args::try_parse_from(&words);
    if let Err(error) = &parsed
        && lacks_command(error, &words)
    {
        words.insert(1, "summary".into());
        return Args::try_parse_from(&words);
    }
    parsed
}

/// Whether what stands where a command should can only be meant as a file, or as a flag of `summary`.
fn lacks_command(error: &clap::Error, words: &[OsString]) -> bool {
    match (error.kind(), error.get(ContextKind::InvalidSubcommand)) {
        (ErrorKind::InvalidSubcommand, Some(ContextValue::String(word))) => is_file(word),
        (ErrorKind::UnknownArgument, _) => words.get(1).is_some_and(|first| is_flag(first)),
        _ => false,
    }
}

fn is_file(word: &str) -> bool {
    word == "-" || word.contains(['.', '/', '\\', '*', '?', '[']) || Path::new(word).exists()
}

fn is_flag(word: &OsStr) -> bool {
    word.as_encoded_bytes().starts_with(b"-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    pub fn parsed(line: &str) -> Result<Command, clap::Error> {
        parse(line.split(' ').map(OsString::from)).map(|args| args.command)
    }

    #[track_caller]
    pub fn refusal(line: &str) -> ErrorKind {
        match parsed(line) {
            Err(error) => error.kind(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_definitions_agree_with_each_other() {
        Args::command().debug_assert();
    }

    #[test]
    fn files_without_a_command_are_summed_up() {
        let lines =
            ["trace.json", "runs/a --json", "-", "*", "--top 5 trace.json", "--json a.json b.json", "-v x.json"];
        for line in lines {
            assert!(matches!(parsed(&format!("ferrum-trace {line}")), Ok(Command::Summary(_))), "{line}");
        }
    }

    #[test]
    fn wide_stands_anywhere() {
        for line in
            ["--wide t.json", "t.json --wide", "summary --wide t.json", "--wide steps t.json", "check t.json --wide"]
        {
            let args = parse(format!("ferrum-trace {line}").split(' ').map(OsString::from)).unwrap();
            assert!(args.wide, "{line}");
        }
        assert!(!parse(["ferrum-trace", "t.json"].map(OsString::from)).unwrap().wide);
    }

    #[test]
    fn a_mistyped_command_is_no_file() {
        assert_eq!(refusal("ferrum-trace recovr a.spool"), ErrorKind::InvalidSubcommand);
        assert_eq!(refusal("ferrum-trace recover --kep a.spool"), ErrorKind::UnknownArgument);
        assert_eq!(refusal("ferrum-trace --kep a.spool"), ErrorKind::UnknownArgument);
    }

    #[test]
    fn the_shells_are_those_that_completions_exist_for() {
        for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
            assert!(parsed(&format!("ferrum-trace completions {shell}")).is_ok(), "{shell}");
        }
        assert_eq!(refusal("ferrum-trace completions csh"), ErrorKind::InvalidValue);
    }
}
