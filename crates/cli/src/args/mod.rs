//! The flags, and what each is called in the help.

use crate::trouble::Trouble;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  ferrum-trace recover trace.json.spool   # makes trace.json
  ferrum-trace recover -h                 # its flags, on one screen
  ferrum-trace man recover | man -l -     # all there is to say about it

Exit codes: 0 fine, 1 something was found, 2 trouble";

/// Tools for the traces that ferrum-trace records.
#[derive(Debug, Parser)]
#[command(name = "ferrum-trace", version, arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// One for each file in `cmd`.
#[derive(Debug, Subcommand)]
pub enum Command {
    Recover(RecoverArgs),
    /// Print a script that completes commands and flags in your shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page
    #[command(after_help = MAN_EXAMPLES)]
    Man {
        /// The command whose page is wanted
        command: Option<String>,
    },
}

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  source <(ferrum-trace completions bash)                 # in ~/.bashrc
  ferrum-trace completions fish | source                  # in config.fish
  ferrum-trace completions zsh > ~/.zfunc/_ferrum-trace   # if fpath has it";

const MAN_EXAMPLES: &str = "\
Examples:
  ferrum-trace man recover | man -l -
  ferrum-trace man > /usr/local/share/man/man1/ferrum-trace.1";

const RECOVER_EXAMPLES: &str = "\
Examples:
  ferrum-trace recover trace.json.spool           # makes trace.json
  ferrum-trace recover traces/ 'runs/*/*.spool'   # every spool there
  ferrum-trace recover -o - trace.json | gzip > trace.json.gz

Exit codes: 0 fine, 1 damage was found and passed over, 2 trouble";

const RECOVER_LONG_EXAMPLES: &str = "\
Examples:
  ferrum-trace recover trace.json.spool           # makes trace.json
  ferrum-trace recover traces/ 'runs/*/*.spool'   # every spool there
  ferrum-trace recover -o - trace.json | gzip > trace.json.gz
  ssh host cat run/trace.json.spool | ferrum-trace recover - > trace.json
  ferrum-trace recover --json traces/ | jq .events

With --json, one object a line and file, in the order of the files:
  version      1; any change that breaks a reader raises it
  file         the spool as it was found; `-` is standard input
  output       the trace that was written; `-` is standard output
  pid          the process that recorded
  events       events in the trace
  threads      threads that recorded
  dropped      events that the recorder had to drop, and counted
  stop_reason  why recording stopped early: `limit`, `no_space`, `io`, or null
  finished     whether the recorder finished the spool by itself
  live         whether its process still records: the trace is a snapshot then
  damaged      places that are damaged and were passed over
  diagnostics  the first 1000 of them, as objects of `offset` (bytes from the
               start of the spool) and `message`
For a file that could not be recovered there is an object of `version`, `file`
and `error` only.

Exit codes:
  0    every file was recovered, and none was damaged
  1    every file was recovered, but damage was found and passed over
  2    at least one file could not be recovered, or the flags make no sense
  130  interrupted; no half trace is left behind";

/// Make a trace from the spool that a killed process left
///
/// While a program records, its events are in a spool beside the trace (`trace.json.spool`). A program that is killed
/// leaves it behind, and nothing recorded is lost: this makes the trace of it, as Chrome trace events in JSON, which
/// ui.perfetto.dev opens.
///
/// The trace gets its name when it is complete; only then is the spool removed. A spool whose process still runs is left
/// alone, and the trace made of it is a snapshot.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = RECOVER_EXAMPLES, after_long_help = RECOVER_LONG_EXAMPLES)]
pub struct RecoverArgs {
    /// Spools, folders of them, globs, or traces whose spool lies beside them; `-` is stdin
    ///
    /// A folder stands for all files in it that end in `.spool`. Globs are expanded here if the shell has not done so.
    /// For `trace.json`, `trace.json.spool` is taken.
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::AnyPath)]
    pub files: Vec<PathBuf>,

    /// Write the trace here (one FILE only); `-` is stdout
    ///
    /// If this is not given, it is the spool's name without `.spool`, or standard output for standard input. With `-`,
    /// the spool is kept.
    #[arg(short, long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// Replace a trace that exists already
    ///
    /// A program that flushes and is killed later leaves both: a trace up to the last flush, and the spool with all.
    #[arg(short, long)]
    pub force: bool,

    /// Keep the spool, which is removed otherwise
    ///
    /// It is removed once the trace has its name, and all of it is on the disk. A spool that its recorder has finished (a
    /// path that ends in `.spool`) stays in any case.
    #[arg(short, long)]
    pub keep: bool,

    /// Say what was found as JSON on stdout, one object a file
    #[arg(long)]
    pub json: bool,

    /// Show all places that are damaged, not only the first 20
    #[arg(short, long)]
    pub verbose: bool,
}

/// Why there are no arguments.
#[derive(Debug)]
pub enum Unparsed {
    /// Also help and version, which are printed instead.
    ByClap(clap::Error),
    /// A file, where a command should be.
    FileAlone(Trouble),
}

/// Reads the command line, its first word being the program's name.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Args, Unparsed> {
    Args::try_parse_from(words).map_err(|error| match file_alone(&error) {
        Some(file) => Unparsed::FileAlone(no_command(Path::new(file))),
        None => Unparsed::ByClap(error),
    })
}

/// The first word, if it is no command and can only be meant as a file.
fn file_alone(error: &clap::Error) -> Option<&str> {
    let (ErrorKind::InvalidSubcommand, Some(ContextValue::String(word))) =
        (error.kind(), error.get(ContextKind::InvalidSubcommand))
    else {
        return None;
    };
    let is_file = word == "-" || word.contains(['.', '/', '\\', '*', '?', '[']) || Path::new(word).exists();
    is_file.then_some(word)
}

fn no_command(file: &Path) -> Trouble {
    let what = "expected a command, found a file; this version can `recover` a trace, and shows no summary of one";
    let hint = match crate::input::has_spool(file) {
        true => format!("ferrum-trace recover {}", file.display()),
        false => "`ferrum-trace -h` lists the commands; ui.perfetto.dev shows traces".to_owned(),
    };
    Trouble::at(file, what).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn parsed(line: &str) -> Result<Args, Unparsed> {
        parse(line.split(' ').map(OsString::from))
    }

    fn recover(flags: &str) -> RecoverArgs {
        match parsed(&format!("ferrum-trace recover {flags}")) {
            Ok(Args { command: Command::Recover(args) }) => args,
            other => panic!("{other:?}"),
        }
    }

    fn refusal(line: &str) -> ErrorKind {
        match parsed(line) {
            Err(Unparsed::ByClap(error)) => error.kind(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_definitions_agree_with_each_other() {
        Args::command().debug_assert();
    }

    #[test]
    fn without_flags_everything_is_off() {
        let args = recover("a.spool");
        assert_eq!(args.files, [PathBuf::from("a.spool")]);
        assert_eq!(args.output, None);
        assert_eq!([args.force, args.keep, args.json, args.verbose], [false; 4]);
    }

    #[test]
    fn files_are_several_and_at_least_one() {
        assert_eq!(recover("a b - c/*.spool").files.len(), 4);
        assert_eq!(refusal("ferrum-trace recover"), ErrorKind::MissingRequiredArgument);
    }

    #[test]
    fn output_takes_a_path_or_a_dash() {
        for flags in ["-o x.json a", "--output x.json a", "--output=x.json a", "a -ox.json"] {
            assert_eq!(recover(flags).output, Some("x.json".into()), "{flags}");
        }
        assert_eq!(recover("-o - a").output, Some("-".into()));
        assert_eq!(refusal("ferrum-trace recover a -o"), ErrorKind::InvalidValue);
    }

    #[test]
    fn force_has_a_short_and_a_long_name() {
        assert!(recover("-f a").force && recover("--force a").force);
    }

    #[test]
    fn keep_has_a_short_and_a_long_name() {
        assert!(recover("-k a").keep && recover("--keep a").keep);
    }

    #[test]
    fn json_has_a_long_name_only() {
        assert!(recover("--json a").json);
        assert_eq!(refusal("ferrum-trace recover -j a"), ErrorKind::UnknownArgument);
    }

    #[test]
    fn verbose_has_a_short_and_a_long_name() {
        assert!(recover("-v a").verbose && recover("--verbose a").verbose);
    }

    #[test]
    fn a_file_without_a_command_is_told_from_a_mistyped_command() {
        for line in ["ferrum-trace trace.json", "ferrum-trace runs/a --json", "ferrum-trace -", "ferrum-trace *"] {
            assert!(matches!(parsed(line), Err(Unparsed::FileAlone(_))), "{line}");
        }
        assert_eq!(refusal("ferrum-trace recovr a.spool"), ErrorKind::InvalidSubcommand);
    }

    #[test]
    fn the_shells_are_those_that_completions_exist_for() {
        for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
            assert!(parsed(&format!("ferrum-trace completions {shell}")).is_ok(), "{shell}");
        }
        assert_eq!(refusal("ferrum-trace completions csh"), ErrorKind::InvalidValue);
    }
}
