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

    /// Returns the figure of a request, in nanoseconds, if it is known. Fractions are rounded up.
    fn figure(self, request: &Request) -> Option<i64> {
        match self {
            Self::Ttft => request.time_to_first_token(),
            Self::Tpot => request.time_per_output_token().map(|time| time.ceil() as i64),
            Self::E2el => request.latency(),
            Self::Queue => request.queue_time(),
        }
    }
}

/// Requests that violate a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SloViolations {
    /// Number of requests, those with an unknown figure included.
    pub count: u64,
    /// Number of requests with an unknown figure.
    pub n_unknown: u64,
    /// The largest known figure above the limit, in nanoseconds.
    pub worst: Option<i64>,
}

impl SloViolations {
    /// Counts the requests that violate a limit.
    pub(super) fn of<'a>(slo: &Slo, requests: impl Iterator<Item = &'a Request>) -> Self {
        let mut violations = Self::default();
        for request in requests.filter(|request| !slo.is_met(request)) {
            let figure = slo.metric.figure(request);
            violations.count += 1;
            violations.n_unknown += u64::from(figure.is_none());
            violations.worst = violations.worst.max(figure);
        }
        violations
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
