//! The flags of `requests`.

use super::verdict::Share;
use crate::flags::selection::{parse_range, parse_time};
use crate::flags::{InputArgs, ReportArgs};
use ferrum_trace_analyze::{Slo, SloMetric};
use std::ops::Range;

const EXAMPLES: &str = "\
Examples:
  ferrum-trace requests trace.json
  ferrum-trace requests --slo ttft=500ms,tpot=50ms trace.json
  ferrum-trace requests --slo ttft=500ms --fail=99% trace.json
  ferrum-trace requests --explain slowest trace.json

Exit codes: 0 success, 1 a trace has no such requests or fails --slo with --fail, 2 error";

const LONG_EXAMPLES: &str = "\
Examples:
  ferrum-trace requests trace.json
  ferrum-trace requests --slo ttft=500ms,tpot=50ms trace.json
  ferrum-trace requests --slo ttft=500ms --fail=99% trace.json
  ferrum-trace requests --explain slowest trace.json
  ferrum-trace requests --explain 17 trace.json
  ferrum-trace requests --json --each trace.json | jq '.requests[] | {id, ttft_ns}'

A request consists of all async events of category `request` with one id, from
the begin of the operation `request` to its end. The figures are defined as in
vLLM's benchmark. They cover requests that ended, but not those that ended with
`abort`, `error` or `dropped`:
  TTFT   time to first token: from arrival to the first token
  TPOT   time per output token: (E2EL - TTFT) / (output tokens - 1)
  ITL    inter-token latency: the time between consecutive tokens
  E2EL   end-to-end latency: from arrival to end
  queue  time in `queued`: before the request runs for the first time
  goodput
         requests per second that meet all limits of --slo
Percentiles are by nearest rank. docs/steps-and-requests.md has the definitions,
also of the parts of --explain, which add up to the latency.

With --json, one object per file, each on a line, with times in nanoseconds:
  version              1; increased by changes that break readers
  file                 the trace as given; `-` is standard input
  count                number of requests, finished or not
  completed            requests that ended well; the figures cover these
  failed               requests that ended with `abort`, `error` or `dropped`
  unfinished           requests that have no end in the trace
  strays               events of category `request` that belong to no request
  wall_ns              from the first arrival to the last end
  prompt_tokens        prompt tokens
  output_tokens        generated tokens
  miscounted           requests whose end states another token count than was seen
  early                requests whose first token was recorded before a device
                       had finished a step that can have computed it: they
                       are in no TTFT, TPOT and ITL
  preempted            requests that were preempted
  preemptions          number of preemptions
  requests_per_s       completed requests
  prompt_tokens_per_s  prompt tokens
  output_tokens_per_s  generated tokens
  figures              `ttft`, `tpot`, `itl`, `e2el`, `queue`: `count`, `mean_ns`,
                       `min_ns`, `p50_ns`, `p95_ns`, `p99_ns`, `max_ns`
  slos                 limits: `metric`, `limit_ns`, `met`, `violations`, of these
                       `unknown`, and `worst_ns`, the worst value or null
  good                 requests that meet all of them; or null
  goodput_per_s        the same per second; or null
  fail                 with --fail, `required_share`, `share` (that meets all
                       limits; null if none completed) and `violated`; else null
  parts                where the time of completed requests went: `queue_ns`,
                       `prefill_ns`, `others_decode_ns`, `others_prefill_ns`,
                       `mixed_ns`, `decode_ns`, `preempted_ns`,
                       `between_steps_ns`, `unexplained_ns`
  steps                number of engine steps that the parts are based on
  incomplete_steps     steps whose work on a device is not in the file
  explained            the requests of --explain, as in `requests`
  requests             with --each, every request; else an empty list
  losses               what could not be read: `count`, `bytes`, and `first`
  recorder             what the recorder counted: `dropped`, `overwritten_chunks`,
                       `count`, and `recordings`; null if the trace says nothing
  trigger              why a dump was written: `reason`, `what`, `dump`,
                       `time_ns`; null if it is no dump
  instants             `name`, `cat`, `count`, `first_ns`, `last_ns`
  notes                other remarks, as strings
For a file that could not be read, the object has only `version`, `file` and
`error`.

Exit codes:
  0    every file was read and has requests
  1    at least one file has no requests that match the flags, or lacks the
       request to explain; a line on stderr says what was looked for and what
       the file has. Or the requests violate --slo, with --fail
  2    at least one file could not be read, or a flag is invalid
  130  interrupted";

/// Show requests: time to first token, time between tokens, goodput, and waiting times
///
/// Prints the figures of a serving benchmark, computed from what the engine recorded, and where the time of requests
/// went: in the queue, in steps for the request, in steps for others, or in time that no recorded step covers.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
pub(crate) struct RequestsArgs {
    #[command(flatten)]
    pub(crate) inputs: InputArgs,

    /// Count requests that meet these limits, e.g. `ttft=500ms,tpot=50ms`
    ///
    /// KEY is `ttft`, `tpot`, `e2el` or `queue`. The unit of TIME is ns, us, ms or s.
    #[arg(long = "slo", value_name = "KEY=TIME,...", value_delimiter = ',', value_parser = parse_slo)]
    pub(crate) slos: Vec<Slo>,

    /// Exit with 1 if a completed request violates a limit of --slo; with a share, if fewer than that meet all
    ///
    /// `--fail` requires that every completed request meets all limits, `--fail=95%` that at least 95 % of them do. A
    /// request with an unknown figure violates its limit; a request of one token has no TPOT and meets any limit of it.
    /// Requests that failed or have no end do not count. One line on standard error has the violations and the worst
    /// value of each limit.
    #[arg(
        long,
        value_name = "SHARE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "100%",
        requires = "slos"
    )]
    pub(crate) fail: Option<Share>,

    /// Show what a request waited for, given its id or `slowest`
    ///
    /// Splits its latency into parts. Ids are written as in the trace, or as numbers.
    #[arg(long, value_name = "ID")]
    pub(crate) explain: Vec<String>,

    /// List every request
    #[arg(long)]
    pub(crate) each: bool,

    /// Include only requests that arrive in this range, from the start of the trace, e.g. `1s..2s`
    #[arg(long, value_name = "FROM..TO", value_parser = parse_range)]
    pub(crate) arrived: Option<Range<i64>>,

    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

fn parse_slo(text: &str) -> Result<Slo, String> {
    let names = SloMetric::ALL.map(SloMetric::name).join("`, `");
    let (key, limit) = text.split_once('=').ok_or_else(|| format!("expected KEY=TIME, found `{text}`"))?;
    let metric = SloMetric::ALL.into_iter().find(|metric| metric.name() == key.trim());
    let metric = metric.ok_or_else(|| format!("expected one of `{names}` before the `=`, found `{key}`"))?;
    let limit = parse_time(limit.trim())?;
    if limit < 0 {
        return Err(format!("expected a time that is not negative, found `{text}`"));
    }
    Ok(Slo { metric, limit })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_has_a_key_and_a_time() {
        assert_eq!(parse_slo("ttft=500ms"), Ok(Slo { metric: SloMetric::Ttft, limit: 500_000_000 }));
        assert_eq!(parse_slo("queue=1.5s"), Ok(Slo { metric: SloMetric::Queue, limit: 1_500_000_000 }));
        for text in ["ttft", "ttft=", "ttft=5", "itl=5ms", "tpot=-5ms", "tpot=fast"] {
            assert!(parse_slo(text).unwrap_err().starts_with("expected "), "{text}");
        }
    }
}
