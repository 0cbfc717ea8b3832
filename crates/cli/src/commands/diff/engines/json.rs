//! The object of a comparison.

use super::report::{EnginesReport, SideReport};
use super::wording::concern;
use crate::render::json::{LossesObject, VERSION};
use ferrum_trace_analyze::{
    ComparedRow, EngineConcern, LayerEvidence, PhaseComparison, PhaseProfile, RowFigures, RowSubject, Sides,
    StepSource, TimedOn, UnnamedTime,
};
use serde::Serialize;

/// Number of names without a class that are listed.
const NAMES_LISTED: usize = 100;

#[derive(Serialize)]
pub(super) struct EnginesObject<'a> {
    version: u32,
    base: SideObject<'a>,
    new: SideObject<'a>,
    rules: Option<&'a str>,
    concerns: Vec<ConcernObject>,
    phases: Vec<PhaseObject<'a>>,
}

#[derive(Serialize)]
struct SideObject<'a> {
    file: &'a str,
    sources: Vec<SourceObject>,
    timed_on: &'static str,
    devices: usize,
    layers: Option<u64>,
    layers_from: Option<&'static str>,
    outside_steps_ns: i64,
    device_unnamed: f64,
    losses: LossesObject<'a>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct SourceObject {
    source: &'static str,
    count: u64,
}

#[derive(Serialize)]
struct ConcernObject {
    code: &'static str,
    refusal: bool,
    text: String,
}

#[derive(Serialize)]
struct PhaseObject<'a> {
    phase: Option<&'static str>,
    base: Option<SizesObject<'a>>,
    new: Option<SizesObject<'a>>,
    rows: Vec<RowObject<'a>>,
}

#[derive(Serialize)]
struct SizesObject<'a> {
    steps: u64,
    incomplete: u64,
    prefill_tokens: Option<u64>,
    decode_tokens: Option<u64>,
    mean_batch: Option<f64>,
    mean_context: Option<f64>,
    unnamed: Vec<NameObject<'a>>,
}

#[derive(Serialize)]
struct NameObject<'a> {
    name: &'a str,
    count: u64,
    total_ns: i64,
}

#[derive(Serialize)]
struct RowObject<'a> {
    kind: &'static str,
    class: Option<&'a str>,
    base: Option<FiguresObject>,
    new: Option<FiguresObject>,
    step_ratio: Option<f64>,
    token_ratio: Option<f64>,
}

#[derive(Serialize)]
struct FiguresObject {
    count: u64,
    total_ns: i64,
    per_step_ns: f64,
    per_token_ns: Option<f64>,
    per_layer_ns: Option<f64>,
    share: Option<f64>,
}

impl<'a> EnginesObject<'a> {
    pub(super) fn new(report: &'a EnginesReport) -> Self {
        let Sides { base, new } = report.sides.map(SideObject::new);
        let comparison = &report.comparison;
        Self {
            version: VERSION,
            base,
            new,
            rules: report.rules_file.as_deref(),
            concerns: comparison.concerns.iter().map(|it| ConcernObject::new(report, it)).collect(),
            phases: comparison.phases.iter().map(|phase| PhaseObject::new(report, phase)).collect(),
        }
    }
}

impl<'a> SideObject<'a> {
    fn new(side: &'a SideReport) -> Self {
        let profile = &side.profile;
        let source = |&(source, count): &(StepSource, u64)| SourceObject { source: source.name(), count };
        Self {
            file: &side.file,
            sources: profile.sources.iter().map(source).collect(),
            timed_on: match profile.timed_on {
                TimedOn::Device => "device",
                TimedOn::Host => "host",
            },
            devices: profile.n_devices,
            layers: profile.layers.map(|layers| layers.n),
            layers_from: profile.layers.map(|layers| match layers.evidence {
                LayerEvidence::Stated => "stated",
                LayerEvidence::CacheKernels => "cache_kernels",
                LayerEvidence::AttentionKernels => "attention_kernels",
            }),
            outside_steps_ns: profile.outside_steps,
            device_unnamed: profile.device.unnamed_share(),
            losses: (&side.losses).into(),
            notes: &side.notes,
        }
    }
}

impl ConcernObject {
    fn new(report: &EnginesReport, it: &EngineConcern) -> Self {
        Self { code: it.code(), refusal: it.is_refusal(), text: concern(report, it) }
    }
}

impl<'a> PhaseObject<'a> {
    fn new(report: &'a EnginesReport, phase: &PhaseComparison) -> Self {
        let of_side = |side: &'a SideReport| side.profile.phases.iter().find(|it| it.phase == phase.phase);
        let Sides { base, new } = report.sides.map(|side| of_side(side).map(SizesObject::new));
        let rows = phase.rows.iter().map(|row| RowObject::new(report, row)).collect();
        Self { phase: phase.phase.map(|phase| phase.as_str()), base, new, rows }
    }
}

impl<'a> SizesObject<'a> {
    fn new(phase: &'a PhaseProfile) -> Self {
        let name = |it: &'a UnnamedTime| NameObject { name: &it.name, count: it.count, total_ns: it.total };
        Self {
            steps: phase.n_steps,
            incomplete: phase.n_incomplete,
            prefill_tokens: phase.prefill_tokens,
            decode_tokens: phase.decode_tokens,
            mean_batch: phase.mean_batch(),
            mean_context: phase.mean_context(),
            unnamed: phase.times.unnamed.iter().take(NAMES_LISTED).map(name).collect(),
        }
    }
}

impl<'a> RowObject<'a> {
    fn new(report: &'a EnginesReport, row: &ComparedRow) -> Self {
        let Sides { base, new } = row.figures.map(|figures| figures.as_ref().map(FiguresObject::new));
        let (kind, class) = match row.subject {
            RowSubject::Step => ("step", None),
            RowSubject::DeviceBusy => ("device_busy", None),
            RowSubject::Class(class) => ("class", Some(report.rules.name(class))),
            RowSubject::Unnamed => ("unnamed", None),
        };
        Self { kind, class, base, new, step_ratio: row.step_ratio, token_ratio: row.token_ratio }
    }
}

impl FiguresObject {
    fn new(figures: &RowFigures) -> Self {
        Self {
            count: figures.count,
            total_ns: figures.total,
            per_step_ns: figures.per_step,
            per_token_ns: figures.per_token,
            per_layer_ns: figures.per_layer,
            share: figures.share,
        }
    }
}
