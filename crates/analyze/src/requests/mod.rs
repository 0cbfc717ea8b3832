//! Requests to an engine: their waiting times, token rates, and the parts of their time.
//!
//! A request is the set of async events of the category `request` with the same id, from the begin of the slice
//! `request` to its end; or, in formats without async events, the slices and instants of one track. The figures are
//! those of vLLM's serving benchmark; `docs/steps-and-requests.md` has the definitions.

mod collect;
mod events;
mod figures;
mod parts;
mod premature_tokens;
mod request;
mod slo;

pub use figures::{Figure, Figures};
pub use parts::{Part, Parts};
pub use request::{Request, Stage, StageKind};
pub use slo::{Slo, SloMetric, SloViolations};

use crate::steps;
use crate::steps::{Step, StepsOptions};
use crate::structure::nesting::Nesting;
use crate::structure::select::Selected;
use collect::Collected;
use ferrum_trace_model::Trace;
use ferrum_trace_model::vocab;
use request::is_failure;

/// Arguments that describe requests. They must be loaded with the trace, together with [`STEP_ARGS`](crate::STEP_ARGS).
pub const REQUEST_ARGS: [&str; 6] = [
    vocab::request::PROMPT_TOKENS,
    vocab::request::OUTPUT_TOKENS,
    vocab::request::REASON,
    vocab::request::TOKENS,
    events::ID,
    vocab::UNCLOSED,
];

/// The requests of a trace. Times are nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    /// Requests by arrival, incomplete ones included.
    pub requests: Vec<Request>,
    /// Number of requests in the trace, regardless of their arrival.
    pub n_found: usize,
    /// Parts of the time of each request; empty for a request without an end.
    pub parts: Vec<Parts>,
    /// Figures of the requests that completed.
    pub figures: Figures,
    /// Number of events of the category `request` that belong to no request, because it is incomplete in the trace.
    pub n_strays: u64,
    /// Number of steps that the parts are based on.
    pub n_steps: usize,
    /// Number of these steps whose device work is missing in the file.
    pub n_incomplete_steps: usize,
}

/// Options of [`requests()`].
#[derive(Clone, Debug, Default)]
pub struct RequestsOptions {
    /// Range of arrivals to select, counted from the first event.
    pub arrived: Option<std::ops::Range<i64>>,
    /// Limits for requests.
    pub slos: Vec<Slo>,
    /// True if the file lists a device, see [`names_device`](crate::names_device).
    pub names_device: bool,
}

impl Requests {
    /// Returns the requests with an id: the complete id, the part of it after the process, or a number in any spelling.
    pub fn find(&self, trace: &Trace, id: &str) -> Vec<usize> {
        let number = parse_number(id);
        let is_meant = |request: &Request| {
            let whole = request.id.content(&trace.strings);
            let local = whole.rsplit_once('/').map_or(&*whole, |(_, local)| local);
            whole == id || local == id || (number.is_some() && parse_number(local) == number)
        };
        self.places(is_meant)
    }

    /// Returns the requests that have ended, the slowest first.
    pub fn by_latency(&self) -> Vec<usize> {
        let mut places = self.places(|request| request.latency().is_some());
        places.sort_by_key(|&place| (std::cmp::Reverse(self.requests[place].latency()), place));
        places
    }

    /// Returns the sum of the parts of all requests that completed.
    pub fn parts_of_completed(&self, trace: &Trace) -> Parts {
        let mut sums = Parts::default();
        for (request, parts) in self.requests.iter().zip(&self.parts) {
            if request.end.is_some() && !is_failure(trace, request.reason) {
                sums.add_all(parts);
            }
        }
        sums
    }

    fn places(&self, condition: impl Fn(&Request) -> bool) -> Vec<usize> {
        let all = self.requests.iter().enumerate();
        all.filter(|(_, request)| condition(request)).map(|(place, _)| place).collect()
    }
}

/// Parses a number in decimal or, after `0x`, in hexadecimal digits.
fn parse_number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Analyzes the requests of a trace that the options select.
pub fn requests(trace: &Trace, nesting: &Nesting, options: &RequestsOptions) -> Requests {
    let Collected { mut requests, n_strays } = collect::collect(trace);
    let n_found = requests.len();
    if let Some(time) = &options.arrived {
        let first = trace.census.first.unwrap_or(0);
        requests.retain(|request| time.contains(&request.arrival.saturating_sub(first)));
    }
    let steps = if requests.is_empty() { Vec::new() } else { all_steps(trace, nesting, options) };
    let prompt_steps = premature_tokens::PromptSteps::of(trace, &steps);
    for request in &mut requests {
        request.is_early = prompt_steps.is_early(trace, request);
    }
    let timeline = parts::Timelines::of(trace, &steps);
    let parts = requests.iter().map(|request| timeline.parts(trace, request)).collect();
    let figures = Figures::of(trace, &requests, &options.slos);
    let n_incomplete_steps = steps.iter().filter(|step| step.is_incomplete).count();
    Requests { requests, n_found, parts, figures, n_strays, n_steps: steps.len(), n_incomplete_steps }
}

fn all_steps(trace: &Trace, nesting: &Nesting, options: &RequestsOptions) -> Vec<Step> {
    let options = StepsOptions { names_device: options.names_device, ..StepsOptions::default() };
    steps(trace, nesting, &Selected::all(trace), &options).steps
}

#[cfg(test)]
mod tests;
