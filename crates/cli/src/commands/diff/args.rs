//! The flags of `diff`.

use crate::flags::ReportArgs;
use clap::ValueHint;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ferrum-trace diff --engines ours.json vllm.pt.trace.json.gz
  ferrum-trace diff --engines --rules my.rules ours.json sglang.json.gz
  ferrum-trace diff --print-rules > my.rules

Exit codes: 0 success, 1 a trace has nothing to compare, 2 error";

const LONG_EXAMPLES: &str = "\
Examples:
  ferrum-trace diff --engines ours.json vllm.pt.trace.json.gz
  ferrum-trace diff --engines --rules my.rules ours.json sglang.json.gz
  ferrum-trace diff --engines --markdown ours.json vllm.json.gz > engines.md
  ferrum-trace diff --print-rules > my.rules

With --engines, rules map the kernels and spans of both traces to the same
classes, such as `attention` or `gemm`. The table of a phase has the time of each
class per step and per token: prompt tokens in prefill, generated ones in decode,
both in mixed. Times are durations of kernels, or self times of spans in a trace
without a device. A ratio is the new time divided by that of the base. It is left
out where it has no meaning, and a line says why: models with different numbers of
layers, device time against host time, different batch sizes, steps without their
kernels. docs/taxonomy.md has the classes and the format of rules.

With --json, one object, with times in nanoseconds:
  version   1; increased by changes that break readers
  base      the base: `file`, `sources` (`source`, `count`), `timed_on`
            (`device` or `host`), `devices`, `layers`, `layers_from` (`stated`,
            `cache_kernels`, `attention_kernels`), `outside_steps_ns`,
            `device_unnamed` (share of all device time), `losses`, `notes`
  new       the new engine, the same
  rules     the file of --rules, or null
  concerns  reasons for care: `code`, `refusal` (true: some or all ratios are
            left out because of it), `text`
  phases    `phase` (null: unknown), `base`, `new` (both may be null: `steps`,
            `incomplete`, `prefill_tokens`, `decode_tokens`, `mean_batch`,
            `mean_context`, `unnamed`), and `rows`: `kind` (`step`,
            `device_busy`, `class`, `unnamed`), `class`, `base`, `new` (both may
            be null: `count`, `total_ns`, `per_step_ns`, `per_token_ns`,
            `per_layer_ns`, `share`), `step_ratio`, `token_ratio`

Exit codes:
  0    both traces were read and have something to compare
  1    a trace has no kernels and no spans
  2    a trace or the rules could not be read, or a flag is invalid
  130  interrupted";

/// Compare two engines by classes of operations, per step and per token
///
/// Maps the kernels and spans of two traces to one taxonomy and shows the time of each class by phase. Reads traces of
/// ferrum-trace, vLLM, SGLang and torch.profiler.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
#[command(mut_arg("json", |arg| arg.help("Print JSON, one object")))]
pub(crate) struct DiffArgs {
    /// The base and the new trace
    #[arg(value_name = "FILE", required_unless_present = "print_rules", value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,

    /// Compare two engines by one taxonomy of operations, per step and per token
    #[arg(long, required_unless_present = "print_rules")]
    pub(crate) engines: bool,

    /// Classify operations by the rules in this file first
    #[arg(long, value_name = "FILE", requires = "engines", value_hint = ValueHint::FilePath)]
    pub(crate) rules: Option<PathBuf>,

    /// Print the built-in rules of --engines
    #[arg(long)]
    pub(crate) print_rules: bool,

    /// Print Markdown, for pull requests
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,

    #[command(flatten)]
    pub(crate) report: ReportArgs,
}
