//! The object of `diff`.

use super::report::DiffReport;
use crate::render::json::VERSION;
use crate::sides::Side;
use ferrum_trace_analyze::compare::{
    Attribution, Cause, Concern, MetricComparison, NameChanges, OneSidedName, RatioInterval, Renamed, TwoModes, Verdict,
};
use ferrum_trace_analyze::runs::metric::MetricUnit;
use ferrum_trace_analyze::runs::{Run, Unit};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
pub(crate) struct DiffObject<'a> {
    version: u32,
    base: SideObject<'a>,
    new: SideObject<'a>,
    interleaved: bool,
    level: f64,
    concerns: Vec<ConcernObject<'a>>,
    metrics: Vec<MetricObject<'a>>,
    details: Vec<MetricObject<'a>>,
    modes: Vec<ModesObject<'a>>,
    change: Option<ChangeObject>,
    causes: Vec<CauseObject<'a>>,
    names: NamesObject<'a>,
}

impl<'a> DiffObject<'a> {
    pub(crate) fn new(report: &'a DiffReport) -> Self {
        let comparison = &report.comparison;
        let causes = comparison.attribution.iter().flat_map(|attribution| &attribution.causes);
        Self {
            version: VERSION,
            base: SideObject::new(&report.base),
            new: SideObject::new(&report.new),
            interleaved: comparison.is_interleaved,
            level: report.level,
            concerns: comparison.concerns.iter().map(ConcernObject::new).collect(),
            metrics: comparison.metrics.iter().map(MetricObject::new).collect(),
            details: comparison.details.iter().map(MetricObject::new).collect(),
            modes: comparison.modes.iter().map(ModesObject::new).collect(),
            change: comparison.attribution.as_ref().map(ChangeObject::new),
            causes: causes.map(CauseObject::new).collect(),
            names: NamesObject::new(&comparison.names),
        }
    }
}

#[derive(Serialize)]
struct SideObject<'a> {
    runs: Vec<RunObject<'a>>,
    notes: &'a [String],
}

impl<'a> SideObject<'a> {
    fn new(side: &'a Side) -> Self {
        Self { runs: side.runs.iter().map(RunObject::new).collect(), notes: &side.notes }
    }
}

#[derive(Serialize)]
struct RunObject<'a> {
    traces: &'a [String],
    ranks: &'a [u32],
    steps: u64,
    warm_up_steps: u64,
    figures: &'a BTreeMap<String, f64>,
}

impl<'a> RunObject<'a> {
    fn new(run: &'a Run) -> Self {
        Self {
            traces: &run.names,
            ranks: &run.ranks,
            steps: run.n_steps(),
            warm_up_steps: run.warm_up_steps,
            figures: &run.figures,
        }
    }
}

#[derive(Serialize)]
pub(crate) struct ConcernObject<'a> {
    code: &'static str,
    refusal: bool,
    text: &'a str,
}

impl<'a> ConcernObject<'a> {
    pub(crate) fn new(concern: &'a Concern) -> Self {
        Self { code: concern.code, refusal: concern.is_refusal, text: &concern.text }
    }
}

#[derive(Serialize)]
pub(crate) struct MetricObject<'a> {
    name: &'a str,
    unit: &'static str,
    base: Option<f64>,
    new: Option<f64>,
    base_runs: usize,
    new_runs: usize,
    ratio: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    p_value: Option<f64>,
    p_adjusted: Option<f64>,
    paired: bool,
    unstable_low: Option<f64>,
    unstable_high: Option<f64>,
    verdict: &'static str,
    within: Option<f64>,
    runs_needed: Option<usize>,
}

impl<'a> MetricObject<'a> {
    pub(crate) fn new(metric: &'a MetricComparison) -> Self {
        let known = |interval: Option<RatioInterval>| interval.filter(RatioInterval::is_finite);
        let (interval, unstable) = (known(metric.interval), known(metric.instability));
        Self {
            name: &metric.name,
            unit: match metric.unit {
                MetricUnit::Nanoseconds => "ns",
                MetricUnit::PerSecond => "1/s",
            },
            base: metric.base,
            new: metric.new,
            base_runs: metric.n_runs.0,
            new_runs: metric.n_runs.1,
            ratio: metric.ratio,
            low: interval.map(|it| it.low),
            high: interval.map(|it| it.high),
            p_value: metric.p_value,
            p_adjusted: metric.p_adjusted,
            paired: metric.is_paired,
            unstable_low: unstable.map(|it| it.low),
            unstable_high: unstable.map(|it| it.high),
            verdict: metric.verdict.name(),
            within: match metric.verdict {
                Verdict::Same { within } => Some(within),
                _ => None,
            },
            runs_needed: match metric.verdict {
                Verdict::CannotTell { runs_needed } => runs_needed,
                _ => None,
            },
        }
    }
}

#[derive(Serialize)]
struct ModesObject<'a> {
    side: &'static str,
    run: Option<&'a str>,
    phase: Option<&'a str>,
    ratio: f64,
    share_high: f64,
}

impl<'a> ModesObject<'a> {
    fn new(modes: &'a TwoModes) -> Self {
        Self {
            side: if modes.is_base { "base" } else { "new" },
            run: modes.run.as_deref(),
            phase: modes.phase.as_deref(),
            ratio: modes.ratio,
            share_high: modes.share_high,
        }
    }
}

#[derive(Serialize)]
struct ChangeObject {
    unit: &'static str,
    base_steps: u64,
    new_steps: u64,
    base_mean_ns: i64,
    new_mean_ns: i64,
    base_common_ns: i64,
    new_common_ns: i64,
    change_ns: i64,
    mix_ns: i64,
    outliers_ns: i64,
    base_outliers: u64,
    new_outliers: u64,
}

impl ChangeObject {
    fn new(attribution: &Attribution) -> Self {
        Self {
            unit: match attribution.unit {
                Unit::Step => "step",
                Unit::Trace => "trace",
            },
            base_steps: attribution.n_steps.0,
            new_steps: attribution.n_steps.1,
            base_mean_ns: attribution.mean_ns.0,
            new_mean_ns: attribution.mean_ns.1,
            base_common_ns: attribution.common_mean_ns.0,
            new_common_ns: attribution.common_mean_ns.1,
            change_ns: attribution.change_ns,
            mix_ns: attribution.mix_ns,
            outliers_ns: attribution.outliers_ns,
            base_outliers: attribution.n_outliers.0,
            new_outliers: attribution.n_outliers.1,
        }
    }
}

#[derive(Serialize)]
pub(crate) struct CauseObject<'a> {
    place: &'static str,
    category: &'a str,
    name: &'a str,
    operation: bool,
    layer: Option<u32>,
    base_ns: i64,
    new_ns: i64,
    base_calls: f64,
    new_calls: f64,
    change_ns: i64,
    calls_ns: i64,
    longer_ns: i64,
}

impl<'a> CauseObject<'a> {
    pub(crate) fn new(cause: &'a Cause) -> Self {
        Self {
            place: cause.place.name(),
            category: &cause.category,
            name: &cause.name,
            operation: cause.is_operation,
            layer: cause.layer,
            base_ns: cause.time_ns.0,
            new_ns: cause.time_ns.1,
            base_calls: cause.calls.0,
            new_calls: cause.calls.1,
            change_ns: cause.change_ns,
            calls_ns: cause.calls_ns,
            longer_ns: cause.longer_ns,
        }
    }
}

#[derive(Serialize)]
struct NamesObject<'a> {
    new: Vec<NameObject<'a>>,
    gone: Vec<NameObject<'a>>,
    renamed: Vec<RenamedObject<'a>>,
}

impl<'a> NamesObject<'a> {
    fn new(names: &'a NameChanges) -> Self {
        let renamed =
            |it: &'a Renamed| RenamedObject { base: NameObject::new(&it.base), new: NameObject::new(&it.new) };
        Self {
            new: names.new.iter().map(NameObject::new).collect(),
            gone: names.gone.iter().map(NameObject::new).collect(),
            renamed: names.renamed.iter().map(renamed).collect(),
        }
    }
}

#[derive(Serialize)]
struct RenamedObject<'a> {
    base: NameObject<'a>,
    new: NameObject<'a>,
}

#[derive(Serialize)]
struct NameObject<'a> {
    place: &'static str,
    category: &'a str,
    name: &'a str,
    calls: f64,
    time_ns: i64,
}

impl<'a> NameObject<'a> {
    fn new(name: &'a OneSidedName) -> Self {
        Self {
            place: name.place.name(),
            category: &name.category,
            name: &name.name,
            calls: name.calls,
            time_ns: name.time_ns,
        }
    }
}
