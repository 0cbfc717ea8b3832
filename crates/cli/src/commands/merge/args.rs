//! The flags of `merge`.

use crate::flags::{InputArgs, ReportArgs};
use clap::{ValueEnum, ValueHint};
use ferrum_trace_analyze::merge::Align;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ferrum-trace merge rank*.json -o all.json           # ranks from the traces or their names
  ferrum-trace merge a.json.spool b.pt.trace.json.gz -o both.pftrace
  ferrum-trace merge engine.json client.json -o both.json.gz   # processes of one run

Exit codes: 0 success, 2 error";

const LONG_EXAMPLES: &str = "\
Examples:
  ferrum-trace merge rank*.json -o all.json           # ranks from the traces or their names
  ferrum-trace merge a.json.spool b.pt.trace.json.gz -o both.pftrace
  ferrum-trace merge engine.json client.json -o both.json.gz   # processes of one run
  ferrum-trace merge --align start before.json after.json -o side-by-side.json   # two runs
  ferrum-trace merge --ranks 4,5 x.json y.json -o all.json
  ferrum-trace merge --json 'node*/*.json' -o all.json.zst | jq .inputs

Clocks: recordings of one boot of one host share its monotonic clock exactly.
Other traces are aligned with the first one: those of one host by its wall clock,
those of several hosts by the order of events. No rank ends an all-reduce,
all-gather, reduce-scatter, all-to-all or barrier before all ranks have begun it,
and nothing is received before it was sent. This limits how far the clocks can be
apart; the limit is printed and stored as the error. If there is no such limit,
or the traces contradict each other, they are aligned by the wall clock (or, if
that is unknown, by their starts), and the error is `unknown`.

With --json, one object:
  version      1; increased by changes that break readers
  output       the file that was written; `-` is standard output
  format       `chrome` or `perfetto`
  events       events that were written
  start_unix_ns  time zero of the output, since 1970, as a string; null if it is
               not known
  inputs       one object per trace, by rank: `file`, `rank`, `host`, `aligned_by`,
               `offset_ns` (added to its times), `drift_ppb`, `error_ns`
               (null if not known), `facts` (constraints on its order),
               `contradictory`, `events`, `processes` (`pid`, `old_pid`, `name`,
               `rank`), `losses`, `recorder` and `notes`
  not_ranks    null, or why the traces are not compared: `reason` (`same rank`,
               `no overlap in time`, `host restarted`, `no rank and no clock`) and
               `message`; `collectives` and `steps` are empty then
  collectives  over ranks: `rows` (`name`, `group`, `count`, `ranks`, `p50_ns`,
               `p99_ns`, `max_ns` from the first rank to the last, `waited_ns`,
               `worst`, `last`, `is_sure`) and `ranks` (`label`, `count`, `last`,
               `waited_ns`, `caused_ns`)
  steps        the same for steps, by the rank that ends them last
  fields_lost  fields around the events that were too long to keep
  uncompared   collectives without a row, because there are too many names
After an error, the object has only `version`, `file` and `error`.

Exit codes:
  0    the file was written
  2    an input could not be read or the output not be written, or a flag
       is invalid; nothing is written then
  130  interrupted; no partial file is left behind";

/// Merge traces of several processes, ranks and hosts into one, with aligned clocks
///
/// Keeps processes apart and sorts them by rank, renumbers ids that would clash, and aligns clocks with a bound on the
/// error. Shows which ranks come last to collectives and steps, and how long the others wait. Traces of two runs can be
/// put side by side with `--align start`, but are not compared. Memory use does not grow with the number of events.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
#[command(mut_arg("json", |arg| arg.help("Print JSON instead of tables")))]
pub(crate) struct MergeArgs {
    #[command(flatten)]
    pub(crate) inputs: InputArgs,

    /// Write to this file: `.json` or `.pftrace`, also with `.gz` or `.zst`; `-` is stdout
    ///
    /// The file appears under its name only when it is complete.
    #[arg(short, long, value_name = "PATH", required = true, value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,

    /// Overwrite an existing file
    #[arg(short, long)]
    pub(crate) force: bool,

    /// The method to align clocks
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    pub(crate) align: AlignBy,

    /// Ranks of the traces, in the order of the files: `0,1,2`
    ///
    /// By default, ranks come from the traces or from their names: `rank3.json`, `trace-rank-3.json.gz`.
    #[arg(long, value_name = "N,N…", value_delimiter = ',')]
    pub(crate) ranks: Vec<u32>,

    /// Also fix what viewers have problems with, as `repair` does; uses 20 bytes of memory per slice
    #[arg(long)]
    pub(crate) repair: bool,

    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// The method to align clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum AlignBy {
    /// By the best method that the traces allow
    #[default]
    Auto,
    /// By the wall clock
    Wall,
    /// Let all traces begin together
    Start,
    /// Keep times as they are
    None,
}

impl From<AlignBy> for Align {
    fn from(by: AlignBy) -> Self {
        match by {
            AlignBy::Auto => Self::Auto,
            AlignBy::Wall => Self::Wall,
            AlignBy::Start => Self::Start,
            AlignBy::None => Self::Nothing,
        }
    }
}
