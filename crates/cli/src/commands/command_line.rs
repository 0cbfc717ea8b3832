//! The command line: the flags of all commands, and files without a command.

use super::Command;
use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::{OsStr, OsString};
use std::path::Path;

const EXAMPLES: &str = "\
Examples:
  ferrum-trace record -- ./engine       # run a program and summarize its trace
  ferrum-trace trace.json               # the same as `summary trace.json`
  ferrum-trace steps trace.json         # duration of the engine's steps, and its causes
  ferrum-trace gate --base ./old --new ./engine    # is the new one slower?
  ferrum-trace convert trace.json -o trace.pftrace
  ferrum-trace summary -h               # the flags of a command, in short
  ferrum-trace man summary | man -l -   # its full manual page

Exit codes: 0 success, 1 something was found or nothing matched, 2 error";

/// Record, analyze, check and convert traces of inference engines: Chrome JSON, Perfetto, spools.
#[derive(Debug, Parser)]
#[command(name = "ferrum-trace", version, arg_required_else_help = true, after_help = EXAMPLES)]
#[command(override_usage = "ferrum-trace <COMMAND> [FLAGS] FILE...\n       ferrum-trace FILE...")]
pub(crate) struct CommandLine {
    /// The command to run.
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Print tables in full, however narrow the terminal is
    ///
    /// On a terminal, long names are cut and columns are hidden until a table fits. With this flag, or if the output is
    /// not a terminal, tables have all columns and full names. Without a terminal, the variable `COLUMNS` can set a
    /// width.
    #[arg(long, global = true)]
    pub(crate) wide: bool,
}

/// Parses the command line, including the name of the program. Files without a command are summarized.
pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<CommandLine, clap::Error> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    let parsed = CommandLine::try_parse_from(&words);
    if let Err(error) = &parsed
        && lacks_command(error, &words)
    {
        words.insert(1, "summary".into());
        return CommandLine::try_parse_from(&words);
    }
    parsed
}

/// Returns true if the first word can only be a file or a flag of `summary`.
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
pub(crate) mod tests {
    use super::*;
    use clap::CommandFactory;

    pub(crate) fn parsed(line: &str) -> Result<Command, clap::Error> {
        parse(line.split(' ').map(OsString::from)).map(|args| args.command)
    }

    #[track_caller]
    pub(crate) fn refusal(line: &str) -> ErrorKind {
        match parsed(line) {
            Err(error) => error.kind(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_definitions_agree_with_each_other() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn files_without_a_command_are_summarized() {
        let lines =
            ["trace.json", "runs/a --json", "-", "*", "--top 5 trace.json", "--json a.json b.json", "-v x.json"];
        for line in lines {
            assert!(matches!(parsed(&format!("ferrum-trace {line}")), Ok(Command::Summary(_))), "{line}");
        }
    }

    #[test]
    fn wide_is_accepted_anywhere() {
        for line in
            ["--wide t.json", "t.json --wide", "summary --wide t.json", "--wide steps t.json", "check t.json --wide"]
        {
            let args = parse(format!("ferrum-trace {line}").split(' ').map(OsString::from)).unwrap();
            assert!(args.wide, "{line}");
        }
        assert!(!parse(["ferrum-trace", "t.json"].map(OsString::from)).unwrap().wide);
    }

    #[test]
    fn a_mistyped_command_is_not_a_file() {
        assert_eq!(refusal("ferrum-trace recovr a.spool"), ErrorKind::InvalidSubcommand);
        assert_eq!(refusal("ferrum-trace recover --kep a.spool"), ErrorKind::UnknownArgument);
        assert_eq!(refusal("ferrum-trace --kep a.spool"), ErrorKind::UnknownArgument);
    }

    #[test]
    fn completions_exist_for_five_shells() {
        for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
            assert!(parsed(&format!("ferrum-trace completions {shell}")).is_ok(), "{shell}");
        }
        assert_eq!(refusal("ferrum-trace completions csh"), ErrorKind::InvalidValue);
    }
}
