//! The flags of `recover`.

use clap::ValueHint;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ferrum-trace recover trace.json.spool           # makes trace.json
  ferrum-trace recover traces/ 'runs/*/*.spool'   # every spool there
  ferrum-trace recover -o trace.json.gz trace.json.spool

Exit codes: 0 fine, 1 damage was found and passed over, 2 trouble";

const LONG_EXAMPLES: &str = "\
Examples:
  ferrum-trace recover trace.json.spool           # makes trace.json
  ferrum-trace recover traces/ 'runs/*/*.spool'   # every spool there
  ferrum-trace recover -o trace.json.gz trace.json.spool
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
/// leaves it behind, and nothing recorded is lost: this makes the trace of it, which ui.perfetto.dev opens: Chrome trace
/// events in JSON, packed if its name ends in `.gz` or `.zst`, or a Perfetto trace if it ends in `.pftrace`.
///
/// The trace gets its name when it is complete; only then is the spool removed. A spool whose process still runs is left
/// alone, and the trace made of it is a snapshot.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Command;
    use crate::args::tests::{parsed, refusal};
    use clap::error::ErrorKind;

    fn recover(flags: &str) -> RecoverArgs {
        match parsed(&format!("ferrum-trace recover {flags}")) {
            Ok(Command::Recover(args)) => args,
            other => panic!("{other:?}"),
        }
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
}
