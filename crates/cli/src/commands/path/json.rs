//! The object of `path`.

use super::report::PathReport;
use crate::input::source::Source;
use crate::render::captures::CaptureObject;
use crate::render::json::{FileObject, LossesObject, RecorderObject};
use ferrum_trace_analyze::{
    Bound, CriticalPath, KindTime, OffPathRow, PathRow, PathSubject, PathTotals, Piece, PieceKind, Prediction,
};
use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct PathObject<'a> {
    #[serde(flatten)]
    file: FileObject<'a>,
    window: Option<WindowObject<'a>>,
    bound: Option<BoundObject>,
    host_ns: i64,
    device_ns: i64,
    outside_ns: i64,
    host_share: f64,
    device_share: f64,
    kinds: Vec<KindObject>,
    operations: Vec<OperationObject<'a>>,
    categories: Vec<CategoryObject<'a>>,
    layers: Vec<LayerObject>,
    steps: usize,
    on_paths: Vec<OnPathObject<'a>>,
    off_path: Vec<OffPathObject<'a>>,
    pieces: Vec<PieceObject<'a>>,
    what_if: Option<WhatIfObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    capture: Option<CaptureObject<'a>>,
    losses: LossesObject<'a>,
    recorder: Option<RecorderObject<'a>>,
    notes: Vec<&'a str>,
}

#[derive(Serialize)]
struct WindowObject<'a> {
    kind: &'static str,
    step: Option<usize>,
    name: Option<&'a str>,
    start_ns: i64,
    duration_ns: i64,
}

#[derive(Serialize)]
struct BoundObject {
    by: Option<&'static str>,
    share: f64,
    unexplained_share: f64,
    certain: bool,
    resources: Vec<ResourceObject>,
}

#[derive(Serialize)]
struct ResourceObject {
    resource: &'static str,
    total_ns: i64,
}

#[derive(Serialize)]
struct KindObject {
    kind: &'static str,
    count: u64,
    total_ns: i64,
}

#[derive(Serialize)]
struct OperationObject<'a> {
    kind: &'static str,
    name: Option<&'a str>,
    count: u64,
    total_ns: i64,
    drag_ns: Option<i64>,
}

#[derive(Serialize)]
struct CategoryObject<'a> {
    kind: &'static str,
    category: &'a str,
    count: u64,
    total_ns: i64,
}

#[derive(Serialize)]
struct LayerObject {
    layer: Option<u32>,
    count: u64,
    total_ns: i64,
}

#[derive(Serialize)]
struct OnPathObject<'a> {
    kind: &'static str,
    name: Option<&'a str>,
    count: u64,
    total_ns: i64,
    steps: u64,
}

#[derive(Serialize)]
struct OffPathObject<'a> {
    name: &'a str,
    device: bool,
    count: u64,
    total_ns: i64,
    slack_ns: i64,
}

#[derive(Serialize)]
struct PieceObject<'a> {
    start_ns: i64,
    duration_ns: i64,
    kind: &'static str,
    name: Option<&'a str>,
    process: String,
    track: String,
}

#[derive(Serialize)]
struct WhatIfObject<'a> {
    duration_ns: i64,
    steps_p50_ns: Option<i64>,
    steps_p50_before_ns: Option<i64>,
    bound: BoundObject,
    kinds: Vec<KindObject>,
    operations: Vec<OperationObject<'a>>,
}

impl<'a> PathObject<'a> {
    pub(crate) fn new(source: &'a Source, report: &'a PathReport) -> Self {
        let path = report.path.as_ref().ok();
        let time = |kind| path.map_or(0, |path| path.totals.of_kind(kind));
        let share = |kind| path.map_or(0.0, |path| path.totals.share(kind));
        let missing = report.path.as_ref().err();
        Self {
            file: FileObject::new(&source.name),
            window: path.map(|path| WindowObject::new(report, path)),
            bound: path.map(|path| (&path.bound).into()),
            host_ns: time(PieceKind::HostWork),
            device_ns: time(PieceKind::DeviceWork),
            outside_ns: time(PieceKind::OutsideFile),
            host_share: share(PieceKind::HostWork),
            device_share: share(PieceKind::DeviceWork),
            kinds: path.map_or_else(Vec::new, |path| kinds(&path.totals)),
            operations: path.map_or_else(Vec::new, |path| operations(report, &path.totals, &path.drags)),
            categories: path.map_or_else(Vec::new, categories),
            layers: path.map_or_else(Vec::new, layers),
            steps: path.map_or(0, |path| path.n_steps),
            on_paths: path.map_or_else(Vec::new, |path| on_paths(report, path)),
            off_path: path.map_or_else(Vec::new, |path| off_path(report, &path.off_path)),
            pieces: path.map_or_else(Vec::new, |path| pieces(report, &path.pieces)),
            what_if: path.and_then(|path| path.prediction.as_ref()).map(|it| WhatIfObject::new(report, it)),
            capture: report.transfer.as_ref().map(CaptureObject::from),
            losses: (&report.loaded.losses).into(),
            recorder: RecorderObject::of(&report.loaded.recordings),
            notes: report.notes.iter().chain(missing).map(String::as_str).collect(),
        }
    }
}

impl<'a> WindowObject<'a> {
    fn new(report: &'a PathReport, path: &'a CriticalPath) -> Self {
        let trace = &report.loaded.trace;
        let (kind, step, name) = match &path.subject {
            PathSubject::Step { place, slice } => {
                ("step", Some(place + 1), report.name(Some(trace.slices.name[*slice as usize])))
            }
            PathSubject::Time => ("time", None, None),
            PathSubject::Request(id) => ("request", None, Some(id.as_str())),
            PathSubject::Whole => ("whole", None, None),
        };
        let start_ns = path.from.saturating_sub(trace.census.first.unwrap_or(path.from));
        Self { kind, step, name, start_ns, duration_ns: path.duration() }
    }
}

impl From<&Bound> for BoundObject {
    fn from(bound: &Bound) -> Self {
        let resources = bound.resources.iter();
        Self {
            by: bound.by.map(|resource| resource.name()),
            share: bound.share,
            unexplained_share: bound.unexplained,
            certain: bound.is_certain,
            resources: resources
                .map(|&(resource, total_ns)| ResourceObject { resource: resource.name(), total_ns })
                .collect(),
        }
    }
}

impl<'a> WhatIfObject<'a> {
    fn new(report: &'a PathReport, prediction: &'a Prediction) -> Self {
        Self {
            duration_ns: prediction.duration,
            steps_p50_ns: prediction.steps.map(|steps| steps.after),
            steps_p50_before_ns: prediction.steps.map(|steps| steps.before),
            bound: (&prediction.bound).into(),
            kinds: kinds(&prediction.totals),
            operations: operations(report, &prediction.totals, &[]),
        }
    }
}

fn kinds(totals: &PathTotals) -> Vec<KindObject> {
    let object = |it: &KindTime| KindObject { kind: it.kind.name(), count: it.count, total_ns: it.total };
    totals.kinds.iter().map(object).collect()
}

fn operations<'a>(report: &'a PathReport, totals: &PathTotals, drags: &[i64]) -> Vec<OperationObject<'a>> {
    let object = |(place, it): (usize, &PathRow)| OperationObject {
        kind: it.kind.name(),
        name: report.name(it.name),
        count: it.count,
        total_ns: it.total,
        drag_ns: drags.get(place).copied(),
    };
    totals.rows.iter().enumerate().map(object).collect()
}

fn categories(path: &CriticalPath) -> Vec<CategoryObject<'_>> {
    let all = path.totals.categories.iter();
    all.map(|it| CategoryObject { kind: it.kind.name(), category: &it.category, count: it.count, total_ns: it.total })
        .collect()
}

fn layers(path: &CriticalPath) -> Vec<LayerObject> {
    let all = path.totals.layers.iter();
    all.map(|it| LayerObject { layer: it.layer, count: it.count, total_ns: it.total }).collect()
}

fn on_paths<'a>(report: &'a PathReport, path: &CriticalPath) -> Vec<OnPathObject<'a>> {
    let all = path.steps.iter();
    all.map(|it| OnPathObject {
        kind: it.row.kind.name(),
        name: report.name(it.row.name),
        count: it.row.count,
        total_ns: it.row.total,
        steps: it.n_steps,
    })
    .collect()
}

fn off_path<'a>(report: &'a PathReport, rows: &[OffPathRow]) -> Vec<OffPathObject<'a>> {
    let object = |it: &OffPathRow| OffPathObject {
        name: report.loaded.trace.strings.get(it.name),
        device: it.is_device,
        count: it.count,
        total_ns: it.total,
        slack_ns: it.slack,
    };
    rows.iter().map(object).collect()
}

fn pieces<'a>(report: &'a PathReport, pieces: &[Piece]) -> Vec<PieceObject<'a>> {
    let trace = &report.loaded.trace;
    let first = trace.census.first.unwrap_or(0);
    let object = |it: &Piece| PieceObject {
        start_ns: it.start.saturating_sub(first),
        duration_ns: it.duration(),
        kind: it.kind.name(),
        name: report.name_of(it),
        process: trace.tracks.process_label(trace.tracks.get(it.track).process, &trace.strings),
        track: trace.tracks.label(it.track, &trace.strings),
    };
    pieces.iter().map(object).collect()
}
