//! The flags of `merge`.

use super::InputArgs;
use clap::{ValueEnum, ValueHint};
use ferrum_trace_analyze::merge::Align;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ferrum-trace merge rank*.json -o all.json           # ranks by what the traces or their names say
  ferrum-trace merge a.json.spool b.pt.trace.json.gz -o both.pftrace
  ferrum-trace merge --align start run1.json run2.json -o side-by-side.json.gz

Exit codes: 0 fine, 2 trouble";

const LONG_EXAMPLES: &str = "\
Examples:
  ferrum-trace merge rank*.json -o all.json           # ranks by what the traces or their names say
  ferrum-trace merge a.json.spool b.pt.trace.json.gz -o both.pftrace
  ferrum-trace merge --align start run1.json run2.json -o side-by-side.json.gz
  ferrum-trace merge --ranks 4,5 x.json y.json -o all.json
  ferrum-trace merge --json 'node*/*.json' -o all.json.zst | jq .inputs

Clocks. Recordings of one start of one host share its monotonic clock, exactly.
Others are brought to the clock of the first: traces of one host by its wall
clock; traces of several hosts by order: no rank ends an all-reduce, all-gather,
reduce-scatter, all-to-all or barrier before all have begun it, and nothing
arrives before it was sent. These facts bound how far the clocks can be apart;
the bound is printed, and stored. If they bound nothing, or contradict each
other, the wall clock is taken (or else all begin together), and the bound is
`unknown`.

With --json, one object:
  version      1; any change that breaks a reader raises it
  output       the file that was written; `-` is standard output
  format       `chrome` or `perfetto`
  events       events that were written
  start_unix_ns  when time zero of the output was, since 1970, as a text; null if
               nobody knows
  inputs       one object a trace, by rank: `file`, `rank`, `host`, `aligned_by`,
               `offset_ns` (what was added to its times), `drift_ppb`, `error_ns`
               (null if not known), `facts` (of order, that speak of it),
               `contradictory`, `events`, `processes` (`pid`, `old_pid`, `name`,
               `rank`), `losses` and `notes`
  collectives  over ranks: `rows` (`name`, `group`, `count`, `ranks`, `p50_ns`,
               `p99_ns`, `max_ns` from the first rank to the last, `waited_ns`,
               `worst`, `last`, `is_sure`) and `ranks` (`label`, `count`, `last`,
               `waited_ns`, `caused_ns`)
  steps        the same for steps: by who ends them last
  fields_lost  fields around the events that were too long to keep
  uncompared   collectives that are in no row, for being of too many names
If something is wrong, there is an object of `version`, `file` and `error`.

Exit codes:
  0    the file was written
  2    an input could not be read or the output not be written, or the flags make
       no sense; nothing is written then
  130  interrupted; no half file is left behind";

/// Merge traces of several processes, ranks and hosts into one, clocks aligned
///
/// Processes are kept apart and sorted by rank, ids that would be mistaken for each other are changed, and clocks are aligned,
/// with the bound of the error. Tells who comes last to collectives and steps, and how long the others wait. Memory does not
/// grow with the number of events.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
pub struct MergeArgs {
    #[command(flatten)]
    pub inputs: InputArgs,

    /// Write here: `.json` or `.pftrace`, also with `.gz` or `.zst`; `-` is stdout
    ///
    /// The file gets its name when it is complete.
    #[arg(short, long, value_name = "PATH", required = true, value_hint = ValueHint::FilePath)]
    pub output: PathBuf,

    /// Replace a file that exists already
    #[arg(short, long)]
    pub force: bool,

    /// How clocks are aligned
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    pub align: AlignBy,

    /// The ranks of the traces, in their order: `0,1,2`
    ///
    /// Without this, what the traces say, or their names: `rank3.json`, `trace-rank-3.json.gz`.
    #[arg(long, value_name = "N,N…", value_delimiter = ',')]
    pub ranks: Vec<u32>,

    /// Also mend what viewers stumble over, as `repair` does; takes 20 bytes of memory a slice
    #[arg(long)]
    pub repair: bool,

    /// Print JSON instead of tables
    #[arg(long)]
    pub json: bool,

    /// Show all that could not be read, not only the first 20
    #[arg(short, long)]
    pub verbose: bool,
}

/// How clocks are aligned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum AlignBy {
    /// By the best there is
    #[default]
    Auto,
    /// By the wall clock
    Wall,
    /// All begin together
    Start,
    /// Times stay as they are
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
