//! The flags of `diff`.

use crate::flags::{SelectionArgs, parse_share};
use crate::sides::parse_metric;
use clap::ValueHint;
use ferrum_trace_analyze::compare::CompareOptions;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ferrum-trace diff before.json after.json
  ferrum-trace diff runs/main --with runs/pr       # folders with one trace per run
  ferrum-trace diff 'a*.json' --with 'b*.json' --markdown > diff.md
  ferrum-trace diff --engines ours.json vllm.pt.trace.json.gz

Exit codes: 0 no difference found, 1 a headline metric differs, 2 error or not comparable";

const LONG_EXAMPLES: &str = "\
Examples:
  ferrum-trace diff before.json after.json
  ferrum-trace diff runs/main --with runs/pr       # folders with one trace per run
  ferrum-trace diff 'a*.json' --with 'b*.json' --markdown > diff.md
  ferrum-trace diff runs/main --with runs/pr -o diff.html
  ferrum-trace diff --engines ours.json vllm.pt.trace.json.gz
  ferrum-trace diff --json a.json b.json | jq '.causes[0]'

Each side is one or many traces. A trace is a run; the ranks in a folder are one
run, and so are the files of a rotating recording. The run is the statistical
unit, because the steps of a run depend on each other. Five runs per side or
more are a good choice, made alternately (base, new, new, base, …).

The headline metrics:
  step          time of an undisturbed step (10th percentile) at a common mix of
                phases and batches
  tokens_per_s  generated tokens per second
  ttft, tpot    time to the first token, time per output token: median
  queue         time before the first run of a request: median
  device_busy   time in which a device works for a step
  span, busy    for traces without steps: duration, and busy time of all tracks

The verdicts:
  faster, slower  the sides differ beyond chance, corrected for all metrics
  same            the interval lies within --margin around no change
  cannot tell     the interval includes no change and a change that matters;
                  the number of runs per side that may be enough is given
  one run         one run per side: the difference is described, not tested
  not comparable  a ratio would have no meaning; a line says why

The change of the mean step is split into parts that sum to it: the batch mix,
outlier steps, and the operations of all other steps. While a device works for a
step, the time belongs to the kernel, else to the innermost span of the host.
docs/diff.md has the definitions.

With --json, one object, with times in nanoseconds:
  version      1; increased by changes that break readers
  base         the base side: `runs` (list of `traces`, `ranks`, `steps`,
               `warm_up_steps`, `figures`), `notes`
  new          the new side, the same
  interleaved  true if runs of both sides alternated in time
  level        confidence level of the intervals
  concerns     reasons for care: `code`, `refusal`, `text`
  metrics      headline metrics: `name`, `unit`, `base`, `new`, `base_runs`,
               `new_runs`, `ratio`, `low`, `high` (null: no bound), `p_value`,
               `p_adjusted`, `paired`, `unstable_low`, `unstable_high` (one run:
               range that the instability within the runs allows), `verdict`,
               `within`, `runs_needed`
  details      the same for step times by phase and by batch; not corrected
  modes        step times with two modes: `side`, `run`, `phase`, `ratio`,
               `share_high`
  change       the change of the mean step: `unit`, `base_steps`, `new_steps`,
               `base_mean_ns`, `new_mean_ns`, `base_common_ns`, `new_common_ns`,
               `change_ns`, `mix_ns`, `outliers_ns`, `base_outliers`,
               `new_outliers`; or null
  causes       operations by impact: `place`, `category`, `name`, `operation`,
               `layer`, `base_ns`, `new_ns`, `base_calls`, `new_calls`,
               `change_ns`, `calls_ns`, `longer_ns`. The `change_ns` of all,
               `mix_ns` and `outliers_ns` sum to the `change_ns` of `change`
  names        `new`, `gone`: `place`, `category`, `name`, `calls`, `time_ns`;
               `renamed`: `base` and `new`, each of these
With --engines, rules map the kernels and spans of both traces to classes such as
`attention`. The table of a phase has the time of each class per step and per
token. A ratio is left out where it has no meaning, and a line says why.
docs/taxonomy.md has the classes and the format of rules. The object of --json:
  base, new    the engines: `file`, `sources`, `timed_on`, `devices`, `layers`,
               `layers_from`, `outside_steps_ns`, `device_unnamed`, `losses`,
               `notes`
  rules        the file of --rules, or null
  phases       `phase`, `base`, `new`, and `rows`: `kind`, `class`, `base`, `new`
               (`count`, `total_ns`, `per_step_ns`, `per_token_ns`,
               `per_layer_ns`, `share`), `step_ratio`, `token_ratio`

Exit codes:
  0    no headline metric differs beyond chance, or there is one run per side
  1    at least one headline metric differs
  2    a file could not be read, a flag is invalid, or the sides are not comparable
  130  interrupted";

/// Compare runs: what changed, whether by chance, and which operations caused it
///
/// Compares step times, throughput and latencies of two sides, with confidence intervals over runs, and splits the
/// change of the mean step over operations.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
pub(crate) struct DiffArgs {
    /// Traces of the base side: files, globs, folders, spools; without --with: two traces
    #[arg(value_name = "BASE", required_unless_present = "print_rules", value_hint = ValueHint::AnyPath)]
    pub(crate) base: Vec<PathBuf>,

    /// Traces of the new side
    #[arg(long, value_name = "NEW", num_args = 1.., value_hint = ValueHint::AnyPath)]
    pub(crate) with: Vec<PathBuf>,

    /// Compare these metrics instead of the headline metrics, e.g. `step.decode,ttft.p99`
    #[arg(long = "metric", value_name = "NAME,...", value_delimiter = ',', value_parser = parse_metric)]
    pub(crate) metrics: Vec<String>,

    /// Call sides the same if they differ by less than this
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = parse_share)]
    pub(crate) margin: f64,

    /// Confidence level of intervals and tests
    #[arg(long, value_name = "PERCENT", default_value = "95%", value_parser = parse_share)]
    pub(crate) level: f64,

    /// Include only steps of these phases
    #[arg(long = "phase", value_name = "PHASE,...", value_delimiter = ',', value_parser = parse_phase)]
    pub(crate) phases: Vec<ferrum_trace_model::vocab::Phase>,

    /// List the N operations with the largest change
    #[arg(long, value_name = "N", default_value_t = 15)]
    pub(crate) top: usize,

    /// Compare even if a ratio would have no meaning, and replace an existing FILE of -o
    #[arg(long)]
    pub(crate) force: bool,

    /// Compare two engines by one taxonomy of operations, per step and per token
    #[arg(long, conflicts_with_all = ["metrics", "output"])]
    pub(crate) engines: bool,

    /// With --engines: classify operations by the rules in this file first
    #[arg(long, value_name = "FILE", requires = "engines", value_hint = ValueHint::FilePath)]
    pub(crate) rules: Option<PathBuf>,

    /// Print the built-in rules of --engines
    #[arg(long)]
    pub(crate) print_rules: bool,

    /// Draw what changed and a differential flame graph: FILE.svg or FILE.html
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    /// Print Markdown, for pull requests
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// List all runs, batches, names and places that could not be read
    #[arg(short, long)]
    pub(crate) verbose: bool,

    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
}

impl DiffArgs {
    /// Returns the options of the comparison.
    pub(crate) fn options(&self) -> CompareOptions {
        CompareOptions { level: self.level, margin: self.margin, metrics: self.metrics.clone(), force: self.force }
    }
}

fn parse_phase(text: &str) -> Result<ferrum_trace_model::vocab::Phase, String> {
    use ferrum_trace_model::vocab::Phase;
    let names = || Phase::ALL.iter().map(|phase| format!("`{phase}`")).collect::<Vec<_>>().join(", ");
    Phase::from_text(text).ok_or_else(|| format!("expected {}, found `{text}`", names()))
}

#[cfg(test)]
mod tests {
    use crate::commands::command_line::tests::{parsed, refusal};
    use clap::error::ErrorKind;

    #[test]
    fn sides_are_separated_by_with() {
        for line in ["diff a b", "diff a b --with c d --json", "diff a --with b --margin 1% --metric ttft.p99,step"] {
            assert!(parsed(&format!("ferrum-trace {line}")).is_ok(), "{line}");
        }
        assert_eq!(refusal("ferrum-trace diff"), ErrorKind::MissingRequiredArgument);
        assert_eq!(refusal("ferrum-trace diff a b --margin 2"), ErrorKind::ValueValidation);
        assert_eq!(refusal("ferrum-trace diff a b --phase walk"), ErrorKind::ValueValidation);
        assert_eq!(refusal("ferrum-trace diff a b --json --markdown"), ErrorKind::ArgumentConflict);
    }
}
