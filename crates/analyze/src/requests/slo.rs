//! What requests should keep to.

use super::request::Request;

/// A limit that a request should keep to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slo {
    /// What is limited.
    pub metric: SloMetric,
    /// The most that is good, in nanoseconds.
    pub limit: i64,
}

/// What can be limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SloMetric {
    /// Time to the first token.
    Ttft,
    /// Time for each further token.
    Tpot,
    /// From arrival to end.
    E2el,
    /// Time before it is run for the first time.
    Queue,
}

impl SloMetric {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Ttft, Self::Tpot, Self::E2el, Self::Queue];

    /// What it is called.
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
    /// Returns true if a request keeps to it. A request of one token has no time for each further one, and keeps to any limit of
    /// that; one of which the figure is not known does not.
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
