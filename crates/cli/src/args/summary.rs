//! The flags of `summary`.

use super::{InputArgs, SelectionArgs};
use clap::ValueEnum;
use ferrum_trace_analyze::{GroupBy, SortBy, SummaryOptions};

const EXAMPLES: &str = "\
Examples:
  ferrum-trace trace.json                                 # the same as `summary trace.json`
  ferrum-trace summary --by cat --sort total 'runs/*.json.gz'
  ferrum-trace summary --within 'decode*' --filter cat=kernel --top 10 trace.json

Exit codes: 0 fine (also with losses, which are told), 2 trouble";

const LONG_EXAMPLES: &str = "\
Examples:
  ferrum-trace trace.json                                 # the same as `summary trace.json`
  ferrum-trace summary --by cat --sort total 'runs/*.json.gz'
  ferrum-trace summary --within 'decode*' --filter cat=kernel --top 10 trace.json
  ferrum-trace summary --filter time=1.5s..2s --by track,name trace.json
  ssh host cat trace.json.gz | ferrum-trace -
  ferrum-trace --json --top 0 trace.json | jq '.rows[] | select(.p99_ns > 1e6) | .name'

The columns:
  count   slices: complete events, and begins with their ends
  total   the sum of their durations; slices that lie in each other both count
  self    the same without what lies in them on their track. Of two slices that
          overlap in part, the later one has the time that both are open, so the
          self times of a track sum to the time at which it is busy
  % wall  self as part of the span of the trace
  mean, p50, p95, p99, max
          of the durations; percentiles by nearest rank
On a narrow terminal some are left out: p99 first, then p95, p50, mean, max,
% wall and count.

With --json, one object a line and file, with times in nanoseconds:
  version           1; any change that breaks a reader raises it
  file              the trace as it was named; `-` is standard input
  kind              `Chrome trace JSON`, `Perfetto trace`, …
  containers        what is around it, from the outside: `gzip`, `zstd`, `zip`
  span_ns           from the first event to the end of the last
  processes         how many there are with anything on them
  tracks            how many there are with anything on them
  events            events of all phases
  phases            events by the letter of their phase; `` for none
  slices            how many there are, whatever was selected
  selected          how many of them count here
  partial_overlaps  slices overlapped in part by a later one of their track
  anomalies         events that should be slices and are not, or are odd ones:
                    `unusable`, `unclosed`, `unopened`, `misnamed`,
                    `unordered_tracks`
  losses            `count`, `bytes`, and `first`, the first 1000 of them, as
                    objects of `offset`, `bytes` and `reason`
  notes             what else is worth knowing, as texts
  devices           GPUs: `process`, `slices`, `kernels`, `comm_kernels`,
                    `span_ns`, `busy_ns`, `idle_ns`, `comm_ns`, `comp_ns`,
                    `overlap_ns`, `exposed_comm_ns`
  asyncs            `groups`, `balanced`, `begins`, `steps`, `finishes`
  flows             `groups`, `complete`, `begins`, `steps`, `finishes`
  by                what rows are grouped by
  sort              what they are sorted by
  rows              `name`, `cat`, `track`, `process` as far as they are in `by`;
                    `count`, `total_ns`, `self_ns`, `share_of_wall`, `mean_ns`,
                    `min_ns`, `p50_ns`, `p95_ns`, `p99_ns`, `max_ns`
  rest              the rows left out by --top: `rows`, `count`, `total_ns`,
                    `self_ns`
  all               the same for all rows
For a file that could not be read there is an object of `version`, `file` and
`error` only.

Exit codes:
  0    every file was read; what could not be read of one is told on stderr
  2    at least one file could not be read, or the flags make no sense
  130  interrupted";

/// Say where the time went: by name, category, track or process
///
/// A table for each file, of what takes the most time, below what the file holds: its span, processes, tracks and events, how
/// busy devices were, and what could not be read of it.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
pub struct SummaryArgs {
    #[command(flatten)]
    pub inputs: InputArgs,

    /// Group by these, e.g. `name,cat`
    #[arg(long, value_name = "KEY,...", value_enum, value_delimiter = ',', default_value = "name")]
    pub by: Vec<By>,

    /// Show so many rows; 0 is all
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub top: usize,

    /// Put the largest of this first
    #[arg(long, value_name = "COLUMN", value_enum, default_value = "self")]
    pub sort: Sort,

    #[command(flatten)]
    pub selection: SelectionArgs,

    /// Print JSON, one object a file
    #[arg(long)]
    pub json: bool,

    /// Show all that could not be read, not only the first 20
    #[arg(short, long)]
    pub verbose: bool,
}

/// What to group by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    Name,
    Cat,
    Track,
    Process,
}

impl By {
    /// What it is called in flags, in tables and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Cat => "cat",
            Self::Track => "track",
            Self::Process => "process",
        }
    }
}

/// What to sort by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Sort {
    Total,
    #[default]
    #[value(name = "self")]
    SelfTime,
    Count,
    Mean,
    Max,
    P99,
    Name,
}

impl Sort {
    /// What it is called in flags and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::SelfTime => "self",
            Self::Count => "count",
            Self::Mean => "mean",
            Self::Max => "max",
            Self::P99 => "p99",
            Self::Name => "name",
        }
    }
}

impl SummaryArgs {
    /// What they ask for.
    pub fn options(&self) -> SummaryOptions {
        let by = self.by.iter().map(|by| match by {
            By::Name => GroupBy::Name,
            By::Cat => GroupBy::Category,
            By::Track => GroupBy::Track,
            By::Process => GroupBy::Process,
        });
        let sort = match self.sort {
            Sort::Total => SortBy::Total,
            Sort::SelfTime => SortBy::SelfTime,
            Sort::Count => SortBy::Count,
            Sort::Mean => SortBy::Mean,
            Sort::Max => SortBy::Max,
            Sort::P99 => SortBy::P99,
            Sort::Name => SortBy::Name,
        };
        SummaryOptions { by: by.collect(), sort, top: (self.top > 0).then_some(self.top) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Command;
    use crate::args::tests::{parsed, refusal};
    use clap::error::ErrorKind;

    fn summary(flags: &str) -> SummaryArgs {
        match parsed(&format!("ferrum-trace summary {flags}")) {
            Ok(Command::Summary(args)) => args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn without_flags_names_are_sorted_by_self_time() {
        let args = summary("a.json");
        let options = args.options();
        assert_eq!((options.by, options.sort, options.top), (vec![GroupBy::Name], SortBy::SelfTime, Some(30)));
        assert!(args.selection.selection().is_everything());
        assert!(!args.json && !args.verbose);
    }

    #[test]
    fn keys_are_one_or_several() {
        assert_eq!(summary("--by name,cat a").by, [By::Name, By::Cat]);
        assert_eq!(summary("--by track --by process a").by, [By::Track, By::Process]);
        assert_eq!(refusal("ferrum-trace summary --by color a"), ErrorKind::InvalidValue);
    }

    #[test]
    fn zero_rows_are_all_rows() {
        assert_eq!(summary("--top 0 a").options().top, None);
        assert_eq!(refusal("ferrum-trace summary --top x a"), ErrorKind::ValueValidation);
    }

    #[test]
    fn a_column_to_sort_by_is_one_of_those() {
        assert_eq!(summary("--sort p99 a").options().sort, SortBy::P99);
        assert_eq!(refusal("ferrum-trace summary --sort p42 a"), ErrorKind::InvalidValue);
    }

    #[test]
    fn several_filters_are_several_flags() {
        assert_eq!(summary("--filter cat=a --filter cat=b --within c a").selection.filters.len(), 2);
        assert_eq!(refusal("ferrum-trace summary --filter cat a"), ErrorKind::ValueValidation);
    }
}
