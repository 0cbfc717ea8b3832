//! The flags of `recover`.

use crate::flags::ReportArgs;
use clap::ValueHint;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ferrum-trace recover trace.json.spool           # writes trace.json
  ferrum-trace recover traces/ 'runs/*/*.spool'   # all spools found there
  ferrum-trace recover -o trace.json.gz trace.json.spool

Exit codes: 0 success, 1 damage was found and skipped, 2 error";

const LONG_EXAMPLES: &str = "\
Examples:
  ferrum-trace recover trace.json.spool           # writes trace.json
  ferrum-trace recover traces/ 'runs/*/*.spool'   # all spools found there
  ferrum-trace recover -o trace.json.gz trace.json.spool
  ssh host cat run/trace.json.spool | ferrum-trace recover - > trace.json
  ferrum-trace recover --json traces/ | jq .events

With --json, one object per file, each on a line, in the order of the files:
  version      1; increased by changes that break readers
  file         the spool as it was found; `-` is standard input
  output       the trace that was written; `-` is standard output
  pid          the process that recorded
  events       events in the trace
  threads      threads that recorded
  dropped      events that the recorder dropped
  stop_reason  why recording stopped early: `limit`, `no_space`, `io`, `file_size`, `truncated`, or null
  recorder     all that the recorder counted, as one of the `recordings` of
               `summary --json`
  finished     whether the recorder finished the spool itself
  live         whether its process still records; the trace is then a snapshot
  kept         why the spool was not removed: `requested`, `still records`,
               `unknown` (whether its process still records), `incomplete` (not
               all of it could be read), or null
  damaged      damaged places that were skipped
  missing_events_max  upper bound for the events missing because of them
  diagnostics  the first 1000 of them, as objects of `offset` (bytes from the
               start of the spool) and `message`
For a file that could not be recovered, the object has only `version`, `file`
and `error`.

Exit codes:
  0    every file was recovered, and none was damaged
  1    every file was recovered, but damage was found and skipped
  2    at least one file could not be recovered, or a flag is invalid
  130  interrupted; no partial trace is left behind";

/// Write the trace from the spool of a killed process
///
/// While a program records, its events are in a spool next to the trace (`trace.json.spool`). A program that is killed
/// leaves the spool behind, with everything it recorded. This command converts it to a trace that ui.perfetto.dev
/// opens: Chrome trace JSON, compressed if the name ends in `.gz` or `.zst`, or a Perfetto trace if it ends in
/// `.pftrace`.
///
/// The trace appears under its name only when it is complete; then the spool is removed, if all of it was read. A spool
/// with damage or missing data is kept. So is the spool of a process that still runs, and the trace is a snapshot. If
/// this command is killed, its unfinished file (`trace.json.PID-XXXXXX.tmp`) stays, and the next command that writes
/// the same trace removes it.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
#[command(mut_arg("json", |arg| arg.help("Print a report as JSON on stdout, one object per file")))]
#[command(mut_arg("verbose", |arg| arg.help("List all damaged places, not only the first 20")))]
pub(crate) struct RecoverArgs {
    /// Spools, folders of spools, globs, or traces with a spool next to them; `-` is stdin
    ///
    /// A folder stands for all files in it that end in `.spool`. Globs that the shell has not expanded are expanded.
    /// For `trace.json`, `trace.json.spool` is used.
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,

    /// Write the trace to this file (one FILE only); `-` is stdout
    ///
    /// By default, the spool's name without `.spool`, or standard output if the input is standard input. With `-`, the
    /// spool is kept.
    #[arg(short, long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    /// Overwrite an existing trace
    ///
    /// A program that flushes and is killed later leaves both: a trace up to the last flush, and the complete spool.
    #[arg(short, long)]
    pub(crate) force: bool,

    /// Keep the spool instead of removing it
    ///
    /// Without this flag, it is removed once the trace is completely on disk. A spool that could not be read
    /// completely, or that its recorder has finished (an output path that ends in `.spool`), is always kept.
    #[arg(short, long)]
    pub(crate) keep: bool,

    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::Command;
    use crate::commands::command_line::tests::{parsed, refusal};
    use clap::error::ErrorKind;

    fn recover(flags: &str) -> RecoverArgs {
        match parsed(&format!("ferrum-trace recover {flags}")) {
            Ok(Command::Recover(args)) => args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn all_flags_are_off_by_default() {
        let args = recover("a.spool");
        assert_eq!(args.files, [PathBuf::from("a.spool")]);
        assert_eq!(args.output, None);
        assert_eq!([args.force, args.keep, args.report.json, args.report.verbose], [false; 4]);
    }

    #[test]
    fn at_least_one_file_is_required() {
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
        assert!(recover("--json a").report.json);
        assert_eq!(refusal("ferrum-trace recover -j a"), ErrorKind::UnknownArgument);
    }

    #[test]
    fn verbose_has_a_short_and_a_long_name() {
        assert!(recover("-v a").report.verbose && recover("--verbose a").report.verbose);
    }
}
