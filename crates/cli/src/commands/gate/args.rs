//! The flags of `gate`.

use super::budget::{Budget, parse_budget};
use super::decision::Rules;
use super::limit::{Limit, parse_limit};
use crate::render::messages::Messages;
use crate::sides::parse_metric;
use clap::ValueHint;
use ferrum_trace_analyze::runs::metric::full_name;
use std::num::NonZeroUsize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ferrum-trace gate --base './engine-main' --new './engine-pr' --runs 10 --budget 2%
  ferrum-trace gate --base runs/main --new runs/pr --budget ttft=5%
  ferrum-trace gate --base baseline:main --new './engine' --junit gate.xml --markdown
  ferrum-trace gate --new runs/pr --limit 'ttft.p99<500ms'

Exit codes: 0 within budget, 1 worse, 3 cannot tell (1 with --strict), 2 error, 130 interrupted";

const LONG_EXAMPLES: &str = "\
Examples:
  ferrum-trace gate --base './engine-main' --new './engine-pr' --runs 10 --budget 2%
  ferrum-trace gate --base runs/main --new runs/pr --budget ttft=5%
  ferrum-trace gate --base baseline:main --new './engine' --junit gate.xml --markdown
  ferrum-trace gate --new runs/pr --limit 'ttft.p99<500ms'
  ferrum-trace gate --base ./a --new ./b --json | jq -r .verdict

A value of --base or --new is, in this order:
  baseline:NAME    a baseline of `ferrum-trace baseline save NAME`
  an existing path a baseline, a trace or a folder of traces; an executable file
                   that is no trace is a command
  a glob           the traces that match
  anything else    a command for the shell `sh`

Commands are run alternately (base, new, new, base, …), after the warm-up runs.
Every run is recorded as by `ferrum-trace record`, all its processes, and
measured at once. A command that fails or records nothing is an error.

A metric is within its budget if the whole confidence interval of its change is
below the budget, and worse if the whole interval is above it. The intervals
hold for all metrics and all looks of early stopping together with 95 %, so at
most 5 % of unchanged programs fail. Metrics are named as by `ferrum-trace diff`:
  step, step.decode, device_busy, tokens_per_s, prompt_tokens_per_s,
  ttft, tpot, itl, e2el, queue (median, or with .mean, .p50, .p95, .p99, .max),
  step.decode.p99, and span and busy for traces without steps
docs/gate.md explains the verdicts, the number of runs, and the use in CI.

With --json, one object, with times in nanoseconds:
  version        1; increased by changes that break readers
  verdict        `pass`, `fail` or `cannot tell`; null if interrupted too early
  exit_code      the exit code
  base           the base side: `kind` (`command`, `traces` or `baseline`), `name`,
                 `runs`, `steps`; or null
  new            the new side, the same
  series         runs of commands: `planned` and `done` runs per side, `end`
                 (`complete`, `early` or `interrupted`); or null
  interleaved    true if runs of both sides alternated in time
  level          confidence level of each interval; or null
  metrics        `name`, `unit`, `base`, `new`, `ratio`, `low`, `high` (null: no
                 bound), `budget`, `verdict` (`within`, `worse`, `cannot tell`),
                 `runs_needed`
  limits         `limit`, `metric`, `unit`, `bound`, `figure`, `runs`, `met`,
                 `violating` (names of runs)
  concerns       reasons for care: `code`, `refusal`, `text`
  causes         operations by impact, as by `diff --json`
  notes          other remarks, as strings
If the gate could not be run, the object has only `version`, `file` and `error`.

Exit codes:
  0    all metrics are within their budgets, and all limits are met
  1    a metric is worse than its budget, or a limit is violated; with --strict
       also: cannot tell
  2    error: a command fails or records nothing, a trace cannot be read, the
       sides are not comparable, or a flag is invalid
  3    cannot tell whether a metric is within its budget
  130  interrupted; the runs that ended before are reported";

/// Decide whether a change stays within a budget, for CI
///
/// Runs two commands alternately, or reads existing traces, and compares a few metrics. The exit code tells whether the
/// new side is worse than its budget allows.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
pub(crate) struct GateArgs {
    /// The base side: a command, traces (path, folder or glob), or `baseline:NAME`
    #[arg(long, value_name = "SIDE", required_unless_present = "limits", value_hint = ValueHint::AnyPath)]
    pub(crate) base: Option<String>,

    /// The new side, the same
    #[arg(long, value_name = "SIDE", value_hint = ValueHint::AnyPath)]
    pub(crate) new: String,

    /// Run each command at most N times
    #[arg(long, value_name = "N", default_value = "10")]
    pub(crate) runs: NonZeroUsize,

    /// Run each command N times before, without measuring it
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) warm_up_runs: usize,

    /// Share by which metrics may get worse, for all or one, e.g. `2%` or `ttft=5%` [default: 2%]
    #[arg(long = "budget", value_name = "[METRIC=]PERCENT", value_delimiter = ',', value_parser = parse_budget)]
    pub(crate) budgets: Vec<Budget>,

    /// Metrics that gate [default: step, and ttft and tpot if there are requests]
    #[arg(long = "metric", value_name = "NAME,...", value_delimiter = ',', value_parser = parse_metric)]
    pub(crate) metrics: Vec<String>,

    /// Absolute limit of the new side, e.g. `ttft.p99<500ms` or `tokens_per_s>=1500`
    ///
    /// The median over the runs decides. Operators are <, <=, > and >=. The unit of times is ns, us, ms or s.
    #[arg(long = "limit", value_name = "LIMIT", value_parser = parse_limit)]
    pub(crate) limits: Vec<Limit>,

    /// Fail if it is uncertain whether a metric is within its budget
    #[arg(long)]
    pub(crate) strict: bool,

    /// Compare even if a ratio would have no meaning, or the baseline is of another machine
    #[arg(long)]
    pub(crate) force: bool,

    /// Stop as soon as the result is certain; this is the default
    #[arg(long, overrides_with = "no_early_stop", hide_short_help = true)]
    pub(crate) early_stop: bool,

    /// Make all runs, even if the result is certain before
    #[arg(long, overrides_with = "early_stop")]
    pub(crate) no_early_stop: bool,

    /// Keep the traces of all runs as DIR/base-01/…, DIR/new-01/…
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) keep: Option<PathBuf>,

    /// Write Markdown to FILE; without FILE, append it to $GITHUB_STEP_SUMMARY or print it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) markdown: Option<Option<PathBuf>>,

    /// Write JUnit XML, with a test case for each metric and limit
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) junit: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Show the output of the commands, and everything that could not be read
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

impl GateArgs {
    pub(crate) fn messages(&self) -> Messages {
        Messages { verbose: self.verbose }
    }

    /// Returns the rules of the decision. A metric that is named twice counts once.
    pub(crate) fn rules(&self) -> Rules {
        let mut metrics: Vec<String> = Vec::new();
        for name in &self.metrics {
            if !metrics.iter().any(|known| full_name(known) == full_name(name)) {
                metrics.push(name.clone());
            }
        }
        Rules { metrics, budgets: self.budgets.clone(), force: self.force }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::Command;
    use crate::commands::command_line::tests::{parsed, refusal};
    use clap::error::ErrorKind;

    fn gate(flags: &str) -> GateArgs {
        match parsed(&format!("ferrum-trace gate {flags}")) {
            Ok(Command::Gate(args)) => args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn flags_have_defaults() {
        let args = gate("--base a --new b");
        assert_eq!((args.runs.get(), args.warm_up_runs, args.markdown), (10, 1, None));
        assert!(!args.no_early_stop && !args.strict && !args.force);
        assert!(gate("--base a --new b --early-stop --no-early-stop").no_early_stop);
        assert!(!gate("--base a --new b --no-early-stop --early-stop").no_early_stop);
        assert_eq!(gate("--new b --limit ttft<1s --markdown --json").markdown, Some(None));
        assert_eq!(gate("--new b --limit ttft<1s --markdown a.md").markdown, Some(Some(PathBuf::from("a.md"))));
        assert_eq!(gate("--base a --new b --metric step,ttft.p99 --metric tpot").metrics, ["step", "ttft.p99", "tpot"]);
        assert_eq!(gate("--base a --new b --metric ttft,step,ttft.p50,step").rules().metrics, ["ttft", "step"]);
    }

    #[test]
    fn a_side_to_compare_with_or_a_limit_is_required() {
        assert_eq!(refusal("ferrum-trace gate --new b"), ErrorKind::MissingRequiredArgument);
        assert_eq!(refusal("ferrum-trace gate --base b"), ErrorKind::MissingRequiredArgument);
        for wrong in ["--budget 2", "--metric walk", "--limit ttft", "--runs 0"] {
            assert_eq!(refusal(&format!("ferrum-trace gate --base a --new b {wrong}")), ErrorKind::ValueValidation);
        }
    }
}
