//! The flags of `requests`.

use super::InputArgs;
use super::selection::{parse_range, parse_time};
use ferrum_trace_analyze::{Slo, SloMetric};
use std::ops::Range;

const EXAMPLES: &str = "\
Examples:
  ferrum-trace requests trace.json
  ferrum-trace requests --slo ttft=500ms,tpot=50ms trace.json
  ferrum-trace requests --explain slowest trace.json

Exit codes: 0 fine, 1 a trace has no requests, 2 trouble";

const LONG_EXAMPLES: &str = "\
Examples:
  ferrum-trace requests trace.json
  ferrum-trace requests --slo ttft=500ms,tpot=50ms trace.json
  ferrum-trace requests --explain slowest trace.json
  ferrum-trace requests --explain 17 trace.json
  ferrum-trace requests --json --each trace.json | jq '.requests[] | {id, ttft_ns}'

A request is all asynchronous events of category `request` with one id, from the
begin of the slice `request` to its end. The figures, as vLLM's benchmark has
them, of requests that ended, and not with `abort`, `error` or `dropped`:
  TTFT   time to first token: from arrival to the first token
  TPOT   time per output token: (E2EL - TTFT) / (output tokens - 1)
  ITL    inter-token latency: every time between two arrivals of tokens
  E2EL   end-to-end latency: from arrival to end
  queue  in the slice `queued`: before it is run for the first time
  goodput
         requests per second that keep to every limit of --slo
Percentiles are by nearest rank. docs/steps-and-requests.md defines all, also
the parts of --explain, which sum to the latency.

With --json, one object a line and file, with times in nanoseconds:
  version              1; any change that breaks a reader raises it
  file                 the trace as it was named; `-` is standard input
  count                requests, whole or not
  completed            those that ended well: the figures are of these
  failed               those that ended with `abort`, `error` or `dropped`
  unfinished           those that have no end in the trace
  strays               events of category `request` that belong to none
  wall_ns              from the first arrival to the last end
  prompt_tokens        tokens of prompts
  output_tokens        generated tokens
  miscounted           requests whose end tells another number than came
  preempted            requests whose cache was taken away
  preemptions          how often that happened
  requests_per_s       completed requests
  prompt_tokens_per_s  tokens of prompts
  output_tokens_per_s  generated tokens
  figures              `ttft`, `tpot`, `itl`, `e2el`, `queue`: `count`, `mean_ns`,
                       `min_ns`, `p50_ns`, `p95_ns`, `p99_ns`, `max_ns`
  slos                 limits: `metric`, `limit_ns`, `met`
  good                 requests that keep to all of them; or null
  goodput_per_s        the same per second; or null
  parts                where the time of completed requests went: `queue_ns`,
                       `prefill_ns`, `others_decode_ns`, `others_prefill_ns`,
                       `mixed_ns`, `decode_ns`, `preempted_ns`,
                       `between_steps_ns`, `unexplained_ns`
  steps                how many steps of the engine told the parts
  explained            what --explain asks for, as in `requests`
  requests             with --each, every request; else an empty list
  losses               what could not be read: `count`, `bytes`, and `first`
  notes                what else is worth knowing, as texts
For a file that could not be read there is an object of `version`, `file` and
`error` only.

Exit codes:
  0    every file was read and has requests
  1    at least one file has no requests
  2    at least one file could not be read, or has not the request that is to be
       explained, or the flags make no sense
  130  interrupted";

/// Show requests: time to first token and between tokens, goodput, and what they wait for
///
/// The figures of a serving benchmark, of what an engine recorded itself, and where the time of requests went: in the queue, in
/// steps for themselves, in steps for others, or in nothing that was recorded.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
pub struct RequestsArgs {
    #[command(flatten)]
    pub inputs: InputArgs,

    /// Count requests that keep to these limits, e.g. `ttft=500ms,tpot=50ms`
    ///
    /// KEY is `ttft`, `tpot`, `e2el` or `queue`; the time has its unit: ns, us, ms or s.
    #[arg(long = "slo", value_name = "KEY=TIME,...", value_delimiter = ',', value_parser = parse_slo)]
    pub slos: Vec<Slo>,

    /// Tell what a request waited for: its id, or `slowest`
    ///
    /// Parts of its time that sum to its latency. Ids may be written as the trace has them, or as numbers.
    #[arg(long, value_name = "ID")]
    pub explain: Vec<String>,

    /// List every request
    #[arg(long)]
    pub each: bool,

    /// Only requests that arrive in this time from the start, e.g. `1s..2s`
    #[arg(long, value_name = "FROM..TO", value_parser = parse_range)]
    pub arrived: Option<Range<i64>>,

    /// Print JSON, one object a file
    #[arg(long)]
    pub json: bool,

    /// Show all that could not be read, not only the first 20
    #[arg(short, long)]
    pub verbose: bool,
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
