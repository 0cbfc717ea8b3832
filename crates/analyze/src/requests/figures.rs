//! Figures of requests, as vLLM's benchmark defines them.

use super::request::{Request, StageKind, is_failure};
use super::slo::{Slo, SloViolations};
use crate::figures::percentile::Distribution;
use ferrum_trace_model::Trace;

/// Distribution of one figure. Times are nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figure {
    /// Number of values.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// Their percentiles.
    pub values: Distribution,
}

impl Figure {
    /// Returns the distribution of values.
    pub(crate) fn of(mut values: Vec<i64>) -> Self {
        let sum: f64 = values.iter().map(|&value| value as f64).sum();
        let mean = if values.is_empty() { 0.0 } else { sum / values.len() as f64 };
        Self { count: values.len() as u64, mean, values: Distribution::of(&mut values) }
    }
}

/// Figures of all requests that completed. Times are nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Requests that completed. Only these count in the figures.
    pub completed: u64,
    /// Requests that failed: `abort`, `error` or `dropped`.
    pub failed: u64,
    /// Requests that have no end in the trace.
    pub unfinished: u64,
    /// Time from the first arrival to the last end, of all requests.
    pub wall: i64,
    /// Number of prompt tokens.
    pub prompt_tokens: u64,
    /// Number of generated tokens.
    pub output_tokens: u64,
    /// Requests whose end states another number of tokens than arrived.
    pub n_miscounted: u64,
    /// Requests whose first token was recorded before it can exist: they have no TTFT, TPOT and ITL.
    pub n_early: u64,
    /// Requests that were preempted: their cache was taken away.
    pub n_preempted: u64,
    /// Number of preemptions.
    pub n_preemptions: u64,
    /// Time to the first token.
    pub ttft: Figure,
    /// Time per output token after the first.
    pub tpot: Figure,
    /// Time between successive arrivals of tokens.
    pub itl: Figure,
    /// Time from arrival to end.
    pub e2el: Figure,
    /// Time before the first run.
    pub queue: Figure,
    /// Requests that meet all limits; `None` if there are no limits.
    pub good: Option<u64>,
    /// Number of requests that meet each limit.
    pub met: Vec<u64>,
    /// Requests that violate each limit.
    pub violations: Vec<SloViolations>,
}

impl Figures {
    /// Computes the figures of requests.
    pub fn of(trace: &Trace, requests: &[Request], slos: &[Slo]) -> Self {
        let is_failed = |request: &&Request| is_failure(trace, request.reason);
        let completed: Vec<&Request> =
            requests.iter().filter(|request| request.end.is_some() && !is_failed(request)).collect();
        let times =
            |figure: fn(&Request) -> Option<i64>| Figure::of(completed.iter().filter_map(|it| figure(it)).collect());
        let tpot = |request: &Request| request.time_per_output_token().map(|time| time.round() as i64);
        let timed = completed.iter().filter(|request| !request.is_early);
        let mut figures = Self {
            n_early: completed.iter().filter(|request| request.is_early).count() as u64,
            completed: completed.len() as u64,
            failed: requests.iter().filter(is_failed).count() as u64,
            unfinished: requests.iter().filter(|request| request.end.is_none()).count() as u64,
            wall: wall(requests),
            ttft: times(Request::time_to_first_token),
            tpot: times(tpot),
            e2el: times(Request::latency),
            queue: times(Request::queue_time),
            itl: Figure::of(timed.flat_map(|request| gaps(&request.arrivals)).collect()),
            met: slos.iter().map(|slo| completed.iter().filter(|it| slo.is_met(it)).count() as u64).collect(),
            violations: slos.iter().map(|slo| SloViolations::of(slo, completed.iter().copied())).collect(),
            ..Self::default()
        };
        if !slos.is_empty() {
            let is_good = |request: &&&Request| slos.iter().all(|slo| slo.is_met(request));
            figures.good = Some(completed.iter().filter(is_good).count() as u64);
        }
        for request in completed {
            figures.add_counts(request);
        }
        figures
    }

    fn add_counts(&mut self, request: &Request) {
        self.prompt_tokens = self.prompt_tokens.saturating_add(request.prompt_tokens.unwrap_or(0));
        self.output_tokens = self.output_tokens.saturating_add(request.tokens());
        let is_miscounted =
            !request.arrivals.is_empty() && request.output_tokens.is_some_and(|stated| stated != request.n_arrived);
        self.n_miscounted += u64::from(is_miscounted);
        let preemptions = request.stages.iter().filter(|stage| stage.kind == StageKind::Preempted).count();
        self.n_preempted += u64::from(preemptions > 0);
        self.n_preemptions += preemptions as u64;
    }

    /// Returns `count` per second of the wall time.
    pub fn per_second(&self, count: u64) -> f64 {
        if self.wall == 0 { 0.0 } else { count as f64 * 1e9 / self.wall as f64 }
    }
}

fn wall(requests: &[Request]) -> i64 {
    let first = requests.iter().map(|request| request.arrival).min();
    let last = requests.iter().filter_map(|request| request.end).max();
    first.zip(last).map_or(0, |(first, last)| last.saturating_sub(first).max(0))
}

/// Returns the times between successive arrivals.
fn gaps(arrivals: &[i64]) -> impl Iterator<Item = i64> {
    arrivals.windows(2).map(|pair| pair[1].saturating_sub(pair[0]))
}
