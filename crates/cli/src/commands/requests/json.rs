//! The object of `requests`.

use super::args::RequestsArgs;
use super::report::RequestsReport;
use super::verdict::Verdict;
use crate::input::source::Source;
use crate::render::json::{DurationsObject, FileObject, TraceObject};
use ferrum_trace_analyze::{Figure, Figures, Part, Parts, Request, Slo, SloViolations};
use ferrum_trace_model::Trace;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;

#[derive(Serialize)]
pub(crate) struct RequestsObject<'a> {
    #[serde(flatten)]
    file: FileObject<'a>,
    count: usize,
    completed: u64,
    failed: u64,
    unfinished: u64,
    strays: u64,
    wall_ns: i64,
    prompt_tokens: u64,
    output_tokens: u64,
    miscounted: u64,
    early: u64,
    preempted: u64,
    preemptions: u64,
    requests_per_s: f64,
    prompt_tokens_per_s: f64,
    output_tokens_per_s: f64,
    figures: FiguresObject,
    slos: Vec<SloObject>,
    good: Option<u64>,
    goodput_per_s: Option<f64>,
    fail: Option<FailObject>,
    parts: BTreeMap<String, i64>,
    steps: usize,
    incomplete_steps: usize,
    explained: Vec<RequestObject<'a>>,
    requests: Vec<RequestObject<'a>>,
    #[serde(flatten)]
    trace: TraceObject<'a>,
}

#[derive(Serialize)]
struct FiguresObject {
    ttft: FigureObject,
    tpot: FigureObject,
    itl: FigureObject,
    e2el: FigureObject,
    queue: FigureObject,
}

#[derive(Serialize)]
struct FigureObject {
    count: u64,
    #[serde(flatten)]
    durations: DurationsObject,
}

#[derive(Serialize)]
struct SloObject {
    metric: &'static str,
    limit_ns: i64,
    met: u64,
    violations: u64,
    unknown: u64,
    worst_ns: Option<i64>,
}

#[derive(Serialize)]
struct FailObject {
    required_share: f64,
    share: Option<f64>,
    violated: bool,
}

#[derive(Serialize)]
struct RequestObject<'a> {
    id: Cow<'a, str>,
    arrival_ns: i64,
    prompt_tokens: Option<u64>,
    output_tokens: u64,
    reason: Option<Cow<'a, str>>,
    queue_ns: Option<i64>,
    ttft_ns: Option<i64>,
    tpot_ns: Option<f64>,
    e2el_ns: Option<i64>,
    early: bool,
    parts: Option<BTreeMap<String, i64>>,
}

impl<'a> RequestsObject<'a> {
    pub(crate) fn new(source: &'a Source, report: &'a RequestsReport, args: &RequestsArgs) -> Self {
        let (trace, requests) = (&report.loaded.trace, &report.requests);
        let figures = &requests.figures;
        let object =
            |place: usize| Some(RequestObject::new(trace, requests.requests.get(place)?, requests.parts.get(place)?));
        Self {
            file: FileObject::new(&source.name),
            count: requests.requests.len(),
            completed: figures.completed,
            failed: figures.failed,
            unfinished: figures.unfinished,
            strays: requests.n_strays,
            wall_ns: figures.wall,
            prompt_tokens: figures.prompt_tokens,
            output_tokens: figures.output_tokens,
            miscounted: figures.n_miscounted,
            early: figures.n_early,
            preempted: figures.n_preempted,
            preemptions: figures.n_preemptions,
            requests_per_s: figures.per_second(figures.completed),
            prompt_tokens_per_s: figures.per_second(figures.prompt_tokens),
            output_tokens_per_s: figures.per_second(figures.output_tokens),
            figures: figures.into(),
            slos: slos(&args.slos, figures),
            good: figures.good,
            goodput_per_s: figures.good.map(|good| figures.per_second(good)),
            fail: report.verdict.as_ref().map(FailObject::from),
            parts: named_parts(&requests.parts_of_completed(trace)),
            steps: requests.n_steps,
            incomplete_steps: requests.n_incomplete_steps,
            explained: report.explained.iter().filter_map(|&place| object(place)).collect(),
            requests: (0..requests.requests.len()).take_while(|_| args.each).filter_map(object).collect(),
            trace: TraceObject::new(&report.loaded, &report.notes, report.missing.as_ref().or(report.violation())),
        }
    }
}

fn slos(slos: &[Slo], figures: &Figures) -> Vec<SloObject> {
    let results = figures.met.iter().zip(&figures.violations);
    let object = |(slo, (&met, violations)): (&Slo, (&u64, &SloViolations))| SloObject {
        metric: slo.metric.name(),
        limit_ns: slo.limit,
        met,
        violations: violations.count,
        unknown: violations.n_unknown,
        worst_ns: violations.worst,
    };
    slos.iter().zip(results).map(object).collect()
}

impl From<&Verdict> for FailObject {
    fn from(verdict: &Verdict) -> Self {
        Self { required_share: verdict.required.as_f64(), share: verdict.share, violated: verdict.violation.is_some() }
    }
}

fn named_parts(parts: &Parts) -> BTreeMap<String, i64> {
    Part::ALL.into_iter().map(|part| (format!("{}_ns", part.name()), parts.get(part))).collect()
}

impl From<&Figures> for FiguresObject {
    fn from(figures: &Figures) -> Self {
        Self {
            ttft: (&figures.ttft).into(),
            tpot: (&figures.tpot).into(),
            itl: (&figures.itl).into(),
            e2el: (&figures.e2el).into(),
            queue: (&figures.queue).into(),
        }
    }
}

impl From<&Figure> for FigureObject {
    fn from(figure: &Figure) -> Self {
        Self { count: figure.count, durations: DurationsObject::new(figure.mean, &figure.values) }
    }
}

impl<'a> RequestObject<'a> {
    fn new(trace: &'a Trace, request: &Request, parts: &Parts) -> Self {
        Self {
            id: request.id.content(&trace.strings),
            arrival_ns: request.arrival.saturating_sub(trace.census.first.unwrap_or(0)),
            prompt_tokens: request.prompt_tokens,
            output_tokens: request.tokens(),
            reason: request.reason.map(|reason| reason.content(&trace.strings)),
            queue_ns: request.queue_time(),
            ttft_ns: request.time_to_first_token(),
            tpot_ns: request.time_per_output_token(),
            e2el_ns: request.latency(),
            early: request.is_early,
            parts: request.end.map(|_| named_parts(parts)),
        }
    }
}
