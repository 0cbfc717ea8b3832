//! The figures that `requests` prints.

use super::args::RequestsArgs;
use super::verdict::Verdict;
use crate::input::source::Source;
use crate::render::table::clean;
use crate::render::units::{count, number};
use crate::render::{contents, limits, recorder};
use crate::user_error::UserError;
use ferrum_trace_analyze::{Nesting, REQUEST_ARGS, Requests, RequestsOptions, STEP_ARGS, names_device, requests};
use ferrum_trace_format::chrome::read::Loaded;
use ferrum_trace_model::Trace;

/// The value of `--explain` for the request with the largest latency.
const SLOWEST: &str = "slowest";

/// Description of the events that are recognized as requests.
const LOOKED_FOR: &str =
    "async events (b, n, e) of category `request`, with an operation `request` from arrival to end";

/// Results for one trace.
pub(crate) struct RequestsReport {
    pub(crate) loaded: Loaded,
    pub(crate) notes: Vec<String>,
    pub(crate) requests: Requests,
    /// Indices of the requests to explain.
    pub(crate) explained: Vec<usize>,
    /// The reason why there are no requests, or not those to explain.
    pub(crate) missing: Option<String>,
    /// The result of `--fail`; `None` without the flag, or if there are no requests.
    pub(crate) verdict: Option<Verdict>,
}

impl RequestsReport {
    /// Loads a trace and measures its requests.
    pub(crate) fn of(source: &Source, args: &RequestsArgs) -> Result<Self, UserError> {
        let wanted = STEP_ARGS.iter().chain(&REQUEST_ARGS).map(|&key| key.to_owned()).collect();
        let (loaded, facts) = source.load(wanted)?;
        let nesting = Nesting::of(&loaded.trace);
        let names_device = names_device(&loaded.fields);
        let options = RequestsOptions { arrived: args.arrived.clone(), slos: args.slos.clone(), names_device };
        let requests = requests(&loaded.trace, &nesting, &options);
        let mut notes = facts.notes();
        notes.extend(limits::notes(&loaded.trace));
        notes.extend(recorder::notes(&loaded.recordings));
        notes.extend(request_notes(&requests));
        let (explained, missing) = explained(&loaded, &requests, &args.explain);
        let missing = match requests.requests.is_empty() {
            true => Some(why_none(&loaded.trace, &requests)),
            false => missing,
        };
        let verdict = Verdict::of(&requests.figures, args).filter(|_| !requests.requests.is_empty());
        Ok(Self { loaded, notes, requests, explained, missing, verdict })
    }

    /// Returns the reason why the requests do not pass `--fail`.
    pub(crate) fn violation(&self) -> Option<&String> {
        self.verdict.as_ref()?.violation.as_ref()
    }
}

/// Returns the reason why there are no requests.
fn why_none(trace: &Trace, requests: &Requests) -> String {
    match requests.n_found {
        0 => format!("no requests: looked for {LOOKED_FOR}; {}", contents::contents_text(trace)),
        n_found => format!(
            "no requests that arrive in the time of --arrived: the file has {}",
            count(n_found as u64, "request")
        ),
    }
}

/// Returns notes about requests that are not counted as usual.
fn request_notes(requests: &Requests) -> Vec<String> {
    let mut notes = Vec::new();
    if requests.n_strays > 0 {
        let strays = count(requests.n_strays, "event");
        notes.push(format!(
            "{strays} of category `request` outside of any request: the begin or end of the request is not in the trace"
        ));
    }
    if requests.n_incomplete_steps > 0 {
        let (incomplete, steps) = (number(requests.n_incomplete_steps as u64), count(requests.n_steps as u64, "step"));
        notes.push(format!(
            "work on devices for {incomplete} of {steps} is not in the file: what requests waited for in these is counted as between \
             steps"
        ));
    }
    let n_early = requests.figures.n_early;
    if n_early > 0 {
        let early = count(n_early, "request");
        notes.push(format!(
            "{early} with a first token that was recorded before a device had finished a step that can have computed it: when the \
             tokens came is not known, and TTFT, TPOT and ITL are without them"
        ));
    }
    let n_miscounted = requests.figures.n_miscounted;
    if n_miscounted > 0 {
        let miscounted = count(n_miscounted, "request");
        notes.push(format!("{miscounted} whose end states another number of output tokens than was seen"));
    }
    notes
}

/// Returns the indices of the requests to explain, and a message about ids that were not found.
fn explained(loaded: &Loaded, requests: &Requests, ids: &[String]) -> (Vec<usize>, Option<String>) {
    let (mut places, mut missing) = (Vec::new(), Vec::new());
    for id in ids {
        let found = match id.as_str() {
            SLOWEST => requests.by_latency().into_iter().take(1).collect(),
            id => requests.find(&loaded.trace, id),
        };
        match id.as_str() {
            _ if !found.is_empty() => {}
            SLOWEST => missing.push("no request that has ended".to_owned()),
            id => missing.push(format!("no request with the id `{}`", clean(id))),
        }
        places.extend(found);
    }
    let ids =
        requests.requests.iter().map(|request| format!("`{}`", clean(&request.id.content(&loaded.trace.strings))));
    let n_requests = count(requests.requests.len() as u64, "request");
    let missing = (!missing.is_empty())
        .then(|| format!("{}: the trace has {n_requests} ({})", missing.join(", "), contents::list(ids)));
    (places, missing)
}
