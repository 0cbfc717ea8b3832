//! Limits for requests (service level objectives).

use super::request::Request;

/// Limit for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slo {
    /// The limited metric.
    pub metric: SloMetric,
    /// The limit, in nanoseconds.
    pub limit: i64,
}

/// Metric that can be limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SloMetric {
    /// Time to the first token.
    Ttft,
    /// Time per output token after the first.
    Tpot,
    /// Time from arrival to end.
    E2el,
    /// Time before the first run.
    Queue,
}

impl SloMetric {
    /// All metrics.
    pub const ALL: [Self; 4] = [Self::Ttft, Self::Tpot, Self::E2el, Self::Queue];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ttft => "ttft",
            Self::Tpot => "tpot",
            Self::E2el => "e2el",
            Self::Queue => "queue",
        }
    }
}

impl Slo {
    /// Returns true if a request meets the limit. A request with one token has no time per further token, and meets any
    /// limit of that; a request with an unknown figure does not.
    pub(crate) fn is_met(&self, request: &Request) -> bool {
        let limit = self.limit as f64;
        let within = |figure: Option<i64>| figure.is_some_and(|figure| figure <= self.limit);
        match self.metric {
            SloMetric::Ttft => within(request.time_to_first_token()),
            SloMetric::Tpot if request.tokens() <= 1 => true,
            SloMetric::Tpot => request.time_per_output_token().is_some_and(|figure| figure <= limit),
            SloMetric::E2el => within(request.latency()),
            SloMetric::Queue => within(request.queue_time()),
        }
    }
}
