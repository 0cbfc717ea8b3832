//! The flags of `summary`.

use crate::flags::{By, ByParser, CaptureArgs, InputArgs, ReportArgs, SelectionArgs};
use clap::ValueEnum;
use ferrum_trace_analyze::{GroupBy, SortBy, SummaryOptions};

const EXAMPLES: &str = "\
Examples:
  ferrum-trace trace.json                                 # the same as `summary trace.json`
  ferrum-trace summary --by cat --sort total 'runs/*.json.gz'
  ferrum-trace summary --within 'decode*' --filter cat=kernel --top 10 trace.json

Exit codes: 0 success, 1 nothing matches --filter or --within or has a key of --by, 2 error";

const LONG_EXAMPLES: &str = "\
Examples:
  ferrum-trace trace.json                                 # the same as `summary trace.json`
  ferrum-trace summary --by cat --sort total 'runs/*.json.gz'
  ferrum-trace summary --within 'decode*' --filter cat=kernel --top 10 trace.json
  ferrum-trace summary --filter time=1.5s..2s --by track,name trace.json
  ferrum-trace summary --by layer,name --filter arg:batch=8 trace.json
  ssh host cat trace.json.gz | ferrum-trace -
  ferrum-trace --json --top 0 trace.json | jq '.rows[] | select(.p99_ns > 1e6) | .name'

The columns:
  count   number of slices: complete events, and begins with their ends
  total   the sum of their durations; nested slices count too
  self    the durations without the slices nested in them on the same track. Where
          two slices overlap in part, the time of the overlap counts for the
          later one, so the self times of a track add up to its busy time
  % wall  self as a share of the span of the trace, or of the range that
          --filter time=FROM..TO selects. It can exceed 100: slices of several
          tracks add up, and a slice that begins in the range counts in full
  mean, p50, p95, p99, max
          of the durations; percentiles are by nearest rank
On a narrow terminal some are hidden: p99 first, then p95, p50, mean, max,
% wall and count. A line below the table lists them; --wide shows all.

Async operations (begins and ends of async events, phases b/e and S/F) have a
table of their own, grouped, sorted and filtered by the same flags:
  count       operations that begin in the trace
  unfinished  those of them that do not end in it; no time includes them
  total       the sum of the durations; operations that run at the same time
              both count
  busy, idle  the time in which a thread worked on them, and the rest, if the
              trace says so: arguments `busy_ns` and `idle_ns` of their ends, as
              the recorder writes them for spans of `tracing`
  mean, p50, p95, p99, max
              of the durations
They count for the track and process of their begin. They lie --within slices of
their process, and within async operations of the same category and id. --sort
self sorts them by total.

With --json, one object per file, each on a line, with times in nanoseconds:
  version           1; increased by changes that break readers
  file              the trace as given; `-` is standard input
  kind              `Chrome trace JSON`, `Perfetto trace`, …
  containers        compression, outermost first: `gzip`, `zstd`, `zip`
  span_ns           from the first event to the end of the last
  wall_ns           the same, or the part of it that a filter of time selects
  processes         number of processes with events
  tracks            number of tracks with events
  events            number of events, of all phases
  phases            number of events by phase letter; `` for none
  slices            number of slices in the file
  selected          number of slices that --filter and --within select
  partial_overlaps  slices that a later one of their track overlaps in part
  anomalies         numbers of events that form no proper slice:
                    `unusable`, `unclosed`, `unopened`, `misnamed`,
                    `unordered_tracks`
  losses            `count`, `bytes`, and `first`, the first 1000 of them, as
                    objects of `offset`, `bytes` and `reason`
  recorder          what the recorder counted: `dropped`, `overwritten_chunks`,
                    `count`, and `recordings`; null if the trace says nothing
  trigger           why a dump was written: `reason`, `what`, `dump`,
                    `time_ns`; null if it is no dump
  instants          `name`, `cat`, `count`, `first_ns`, `last_ns`
  notes             other remarks, as strings
  devices           GPUs: `process`, `slices`, `kernels`, `comm_kernels`,
                    `span_ns`, `busy_ns`, `idle_ns`, `comm_ns`, `comp_ns`,
                    `overlap_ns`, `exposed_comm_ns`
  asyncs            `groups`, `balanced`, `begins`, `steps`, `finishes`
  flows             `groups`, `complete`, `begins`, `steps`, `finishes`
  by                the value of --by
  sort              the value of --sort
  rows              the keys of `by`: `name`, `cat`, `track`, `process`, `layer`,
                    `step`, `phase`, `parent`, `arg:NAME`, as strings; and
                    `count`, `total_ns`, `self_ns`, `share_of_wall`, `mean_ns`,
                    `min_ns`, `p50_ns`, `p95_ns`, `p99_ns`, `max_ns`
  rest              the rows left out by --top: `rows`, `count`, `total_ns`,
                    `self_ns`
  all               the same for all rows
  async_rows        async operations: the fields of `by`, and `count`,
                    `unfinished`, `total_ns`, `mean_ns`, `min_ns`, `p50_ns`,
                    `p95_ns`, `p99_ns`, `max_ns`, `busy_ns`, `idle_ns`; the last
                    two are null if the trace does not say
  async_rest        the async rows left out by --top: `rows`, `count`,
                    `unfinished`, `total_ns`
  async_all         the same for all async rows
  capture           with --capture: `replays`, `kernels`, `matched`,
                    `mismatches`, …; docs/json.md lists all
For a file that could not be read, the object has only `version`, `file` and
`error`.

Exit codes:
  0    every file was read; parts that could not be read are listed on stderr
  1    nothing in at least one file matches --filter and --within, or has a layer,
       a step, a phase or an argument of --by
  2    at least one file could not be read, or a flag is invalid
  130  interrupted";

/// Show where the time went, by name, category, track, process, layer, step or argument
///
/// Prints an overview of each file (span, processes, tracks, events, how busy devices were, what could not be read) and
/// a table of the slices that take the most time. Async operations, such as requests and tasks, have a second table.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
pub(crate) struct SummaryArgs {
    #[command(flatten)]
    pub(crate) inputs: InputArgs,

    /// Group by these keys, e.g. `layer,name`
    ///
    /// `layer` is the number of a layer, found as in the command `layers`. `step` is the number of a step as in the
    /// command `steps`, and `phase` the phase of that step: of a kernel the step that launched it, of other slices the
    /// step in which they begin. `parent` is the name of the enclosing slice. `arg:NAME` is the value of the argument
    /// NAME. Slices without such a key form a row such as `(no layer)`. Exits with 1 if no slice has the key.
    #[arg(long, value_name = "KEY,...", value_parser = ByParser(KEYS), value_delimiter = ',', default_value = "name")]
    pub(crate) by: Vec<By>,

    /// Show at most N rows; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub(crate) top: usize,

    /// Sort by this column, largest first
    #[arg(long, value_name = "COLUMN", value_enum, default_value = "self")]
    pub(crate) sort: Sort,

    #[command(flatten)]
    pub(crate) selection: SelectionArgs,

    #[command(flatten)]
    pub(crate) capture: CaptureArgs,

    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// The keys of `--by`, besides arguments.
const KEYS: &[By] = &[By::Name, By::Cat, By::Track, By::Process, By::Layer, By::Step, By::Phase, By::Parent];

/// A column to sort by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sort {
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
    /// Returns the name in flags and in JSON.
    pub(crate) fn name(self) -> &'static str {
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
    /// Returns the options of the flags.
    pub(crate) fn options(&self) -> SummaryOptions {
        let by = self.by.iter().filter_map(|by| match by {
            By::Name => Some(GroupBy::Name),
            By::Cat => Some(GroupBy::Category),
            By::Track => Some(GroupBy::Track),
            By::Process => Some(GroupBy::Process),
            _ => None,
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
        SummaryOptions { by: by.collect(), sort, top: (self.top > 0).then_some(self.top), ..SummaryOptions::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::Command;
    use crate::commands::command_line::tests::{parsed, refusal};
    use clap::error::ErrorKind;

    fn summary(flags: &str) -> SummaryArgs {
        match parsed(&format!("ferrum-trace summary {flags}")) {
            Ok(Command::Summary(args)) => args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn names_are_sorted_by_self_time_by_default() {
        let args = summary("a.json");
        let options = args.options();
        assert_eq!((options.by, options.sort, options.top), (vec![GroupBy::Name], SortBy::SelfTime, Some(30)));
        assert!(args.selection.selection().is_everything());
        assert!(!args.report.json && !args.report.verbose);
    }

    #[test]
    fn several_keys_can_be_given() {
        assert_eq!(summary("--by name,cat a").by, [By::Name, By::Cat]);
        assert_eq!(summary("--by track --by process a").by, [By::Track, By::Process]);
        assert_eq!(summary("--by layer,arg:m=n a").by, [By::Layer, By::Arg("m=n".to_owned())]);
        assert_eq!(summary("--by layer,name a").options().by, [GroupBy::Name]);
        assert_eq!(refusal("ferrum-trace summary --by arg: a"), ErrorKind::InvalidValue);
        assert_eq!(refusal("ferrum-trace summary --by batch a"), ErrorKind::InvalidValue);
        assert_eq!(refusal("ferrum-trace summary --by color a"), ErrorKind::InvalidValue);
    }

    #[test]
    fn zero_rows_are_all_rows() {
        assert_eq!(summary("--top 0 a").options().top, None);
        assert_eq!(refusal("ferrum-trace summary --top x a"), ErrorKind::ValueValidation);
    }

    #[test]
    fn an_unknown_column_to_sort_by_is_an_error() {
        assert_eq!(summary("--sort p99 a").options().sort, SortBy::P99);
        assert_eq!(refusal("ferrum-trace summary --sort p42 a"), ErrorKind::InvalidValue);
    }

    #[test]
    fn filters_can_be_repeated() {
        assert_eq!(summary("--filter cat=a --filter cat=b --within c a").selection.filters.len(), 2);
        assert_eq!(refusal("ferrum-trace summary --filter cat a"), ErrorKind::ValueValidation);
    }
}
