//! Names of the figures of a run.
//!
//! | name | figure |
//! | --- | --- |
//! | `step`, `step.decode` | time of an undisturbed step, over all phases or of one, at a common mix of batches |
//! | `device_busy` | time in which a device works for a step, at a common mix of batches |
//! | `step.decode.p99` | a percentile of the step times of a phase, as they are; also `mean`, `p50`, `p95`, `max` |
//! | `tokens_per_s`, `prompt_tokens_per_s` | generated and prompt tokens per second |
//! | `ttft`, `ttft.p99` | time to the first token: median, or another percentile; also `tpot`, `itl`, `e2el`, `queue` |
//! | `span`, `busy` | of a trace without steps: time from first to last event, and busy time of all tracks |

/// Time of a step.
pub const STEP: &str = "step";
/// Time in which a device works for a step.
pub const DEVICE_BUSY: &str = "device_busy";
/// Generated tokens per second.
pub const TOKENS_PER_S: &str = "tokens_per_s";
/// Prompt tokens per second.
pub const PROMPT_TOKENS_PER_S: &str = "prompt_tokens_per_s";
/// Time from the first to the last event.
pub const SPAN: &str = "span";
/// Busy time of all tracks.
pub const BUSY: &str = "busy";
/// Time to the first token.
pub const TTFT: &str = "ttft";
/// Time per output token.
pub const TPOT: &str = "tpot";
/// Time between tokens.
pub const ITL: &str = "itl";
/// Latency of a request.
pub const E2EL: &str = "e2el";
/// Time before the first run of a request.
pub const QUEUE: &str = "queue";

/// Statistics of a distribution, as the last part of a name.
pub const STATISTICS: [&str; 5] = ["mean", "p50", "p95", "p99", "max"];
/// Statistic of a name without one.
pub const MEDIAN: &str = "p50";
/// Figures of requests.
pub const OF_REQUESTS: [&str; 5] = [TTFT, TPOT, ITL, E2EL, QUEUE];

/// Unit of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricUnit {
    /// Nanoseconds; less is better.
    Nanoseconds,
    /// Per second; more is better.
    PerSecond,
}

/// Returns the unit of a metric.
pub fn unit(name: &str) -> MetricUnit {
    if name.ends_with("_per_s") { MetricUnit::PerSecond } else { MetricUnit::Nanoseconds }
}

/// Returns the name under which a figure is stored: `ttft` is short for `ttft.p50`.
pub fn full_name(name: &str) -> String {
    if OF_REQUESTS.contains(&name) { format!("{name}.{MEDIAN}") } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_default_of_requests() {
        let names = ["ttft", "ttft.p99", "step", "step.decode", "tokens_per_s"].map(full_name);
        assert_eq!(names, ["ttft.p50", "ttft.p99", "step", "step.decode", "tokens_per_s"]);
    }

    #[test]
    fn rates_are_better_if_they_are_higher() {
        assert_eq!(unit("tokens_per_s"), MetricUnit::PerSecond);
        assert_eq!(unit("ttft.p99"), MetricUnit::Nanoseconds);
    }
}
