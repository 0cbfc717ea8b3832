//! The object of `gate`.

use super::decision::{BudgetVerdict, MetricDecision};
use super::inputs::SideInput;
use super::limit::LimitResult;
use super::report::{GateReport, GateVerdict};
use super::series::SeriesSummary;
use crate::commands::diff::{CauseObject, ConcernObject};
use crate::render::json::VERSION;
use ferrum_trace_analyze::compare::RatioInterval;
use ferrum_trace_analyze::runs::metric::MetricUnit;
use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct GateObject<'a> {
    version: u32,
    verdict: Option<&'static str>,
    exit_code: u8,
    base: Option<SideObject<'a>>,
    new: SideObject<'a>,
    series: Option<SeriesObject>,
    interleaved: bool,
    level: Option<f64>,
    metrics: Vec<MetricObject<'a>>,
    limits: Vec<LimitObject<'a>>,
    concerns: Vec<ConcernObject<'a>>,
    causes: Vec<CauseObject<'a>>,
    notes: Vec<&'a str>,
}

impl<'a> GateObject<'a> {
    pub(crate) fn new(report: &'a GateReport) -> Self {
        let comparison = report.decision.as_ref().map(|decision| &decision.comparison);
        let attribution = comparison.and_then(|comparison| comparison.attribution.as_ref());
        let inputs = &report.inputs;
        Self {
            version: VERSION,
            verdict: report.verdict().map(GateVerdict::name),
            exit_code: report.status().code(),
            base: inputs.base.as_ref().map(SideObject::new),
            new: SideObject::new(&inputs.new),
            series: report.series.as_ref().map(SeriesObject::new),
            interleaved: comparison.is_some_and(|comparison| comparison.is_interleaved),
            level: report.decision.as_ref().map(|decision| decision.level),
            metrics: report.decision.iter().flat_map(|it| &it.metrics).map(MetricObject::new).collect(),
            limits: report.limits.iter().map(LimitObject::new).collect(),
            concerns: comparison.iter().flat_map(|it| &it.concerns).map(ConcernObject::new).collect(),
            causes: attribution.iter().flat_map(|it| &it.causes).map(CauseObject::new).collect(),
            notes: inputs.sides().flat_map(|input| &input.side.notes).map(String::as_str).collect(),
        }
    }
}

#[derive(Serialize)]
struct SideObject<'a> {
    kind: &'static str,
    name: &'a str,
    runs: usize,
    steps: u64,
}

impl<'a> SideObject<'a> {
    fn new(input: &'a SideInput) -> Self {
        Self { kind: input.kind, name: &input.name, runs: input.n_runs(), steps: input.n_steps() }
    }
}

#[derive(Serialize)]
struct SeriesObject {
    planned: usize,
    done: usize,
    end: &'static str,
}

impl SeriesObject {
    fn new(series: &SeriesSummary) -> Self {
        Self { planned: series.n_planned, done: series.n_done, end: series.end.name() }
    }
}

#[derive(Serialize)]
struct MetricObject<'a> {
    name: &'a str,
    unit: &'static str,
    base: Option<f64>,
    new: Option<f64>,
    ratio: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    budget: f64,
    verdict: &'static str,
    runs_needed: Option<usize>,
}

impl<'a> MetricObject<'a> {
    fn new(it: &'a MetricDecision) -> Self {
        let metric = &it.metric;
        let interval = metric.interval.filter(RatioInterval::is_finite);
        Self {
            name: &metric.name,
            unit: unit(metric.unit),
            base: metric.base,
            new: metric.new,
            ratio: metric.ratio,
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
            budget: it.budget,
            verdict: it.verdict.name(),
            runs_needed: match it.verdict {
                BudgetVerdict::CannotTell { runs_needed } => runs_needed,
                BudgetVerdict::Within | BudgetVerdict::Worse => None,
            },
        }
    }
}

fn unit(unit: MetricUnit) -> &'static str {
    match unit {
        MetricUnit::Nanoseconds => "ns",
        MetricUnit::PerSecond => "1/s",
    }
}

#[derive(Serialize)]
struct LimitObject<'a> {
    limit: &'a str,
    metric: &'a str,
    unit: &'static str,
    bound: f64,
    figure: f64,
    runs: usize,
    met: bool,
    violating: &'a [String],
}

impl<'a> LimitObject<'a> {
    fn new(it: &'a LimitResult) -> Self {
        Self {
            limit: &it.limit.text,
            metric: &it.limit.metric,
            unit: unit(it.limit.unit),
            bound: it.limit.bound,
            figure: it.figure,
            runs: it.n_runs,
            met: it.is_met,
            violating: &it.violating,
        }
    }
}
