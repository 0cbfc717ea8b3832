//! The object of `layers`.

use super::report::LayersReport;
use crate::input::source::Source;
use crate::render::captures::CaptureObject;
use crate::render::json::{FileObject, LossesObject, RecorderObject};
use ferrum_trace_analyze::{Cell, PhaseLayers, UnlayeredWork, WorkSum};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
pub(crate) struct LayersObject<'a> {
    #[serde(flatten)]
    file: FileObject<'a>,
    layer_from: &'static str,
    by: String,
    categories: Vec<String>,
    phases: Vec<PhaseObject<'a>>,
    device_without_layer: UnlayeredObject,
    #[serde(skip_serializing_if = "Option::is_none")]
    capture: Option<CaptureObject<'a>>,
    losses: LossesObject<'a>,
    recorder: Option<RecorderObject<'a>>,
    notes: Vec<&'a str>,
}

#[derive(Serialize)]
struct UnlayeredObject {
    by_graph: WorkObject,
    outside_layers: WorkObject,
    unknown_launch: WorkObject,
}

#[derive(Serialize)]
struct WorkObject {
    count: u64,
    total_ns: i64,
}

impl From<WorkSum> for WorkObject {
    fn from(WorkSum { count, total }: WorkSum) -> Self {
        Self { count, total_ns: total }
    }
}

impl From<UnlayeredWork> for UnlayeredObject {
    fn from(UnlayeredWork { by_graph, outside_layers, unknown_launch }: UnlayeredWork) -> Self {
        Self { by_graph: by_graph.into(), outside_layers: outside_layers.into(), unknown_launch: unknown_launch.into() }
    }
}

#[derive(Serialize)]
struct PhaseObject<'a> {
    phase: Option<&'a str>,
    slices: usize,
    rows: Vec<RowObject>,
    without_layer: Vec<CellObject>,
}

#[derive(Serialize)]
struct RowObject {
    layer: u32,
    count: u64,
    self_ns: i64,
    total_ns: i64,
    cells: Vec<CellObject>,
}

#[derive(Serialize)]
struct CellObject {
    #[serde(flatten)]
    key: BTreeMap<String, String>,
    count: u64,
    self_ns: i64,
    total_ns: i64,
}

impl<'a> LayersObject<'a> {
    pub(crate) fn new(source: &'a Source, report: &'a LayersReport) -> Self {
        let layers = &report.layers;
        Self {
            file: FileObject::new(&source.name),
            layer_from: report.source_name(),
            by: report.by.name(),
            categories: report.columns(),
            phases: layers.phases.iter().map(|phase| PhaseObject::new(report, phase)).collect(),
            device_without_layer: layers.unlayered.into(),
            capture: report.transfer.as_ref().map(CaptureObject::from),
            losses: (&report.loaded.losses).into(),
            recorder: RecorderObject::of(&report.loaded.recordings),
            notes: report.notes.iter().chain(&report.missing).map(String::as_str).collect(),
        }
    }
}

impl<'a> PhaseObject<'a> {
    fn new(report: &'a LayersReport, phase: &'a PhaseLayers) -> Self {
        let (layers, columns) = (&report.layers, report.columns());
        let row = |(place, &layer): (usize, &u32)| {
            let Cell { count, self_time, total } = layers.row_sum(phase, place);
            let cells = cells(report, &columns, |column| phase.cell(place, column));
            RowObject { layer, count, self_ns: self_time, total_ns: total, cells }
        };
        Self {
            phase: phase.phase.as_deref(),
            slices: phase.n_enclosing,
            rows: layers.layers.iter().enumerate().map(row).collect(),
            without_layer: cells(report, &columns, |column| phase.without_layer[column]),
        }
    }
}

/// Returns the cells that are not empty.
fn cells(report: &LayersReport, columns: &[String], cell: impl Fn(usize) -> Cell) -> Vec<CellObject> {
    let all = columns.iter().enumerate().map(|(column, name)| (name, cell(column)));
    let object = |(name, cell): (&String, Cell)| CellObject {
        key: BTreeMap::from([(report.by.name(), name.clone())]),
        count: cell.count,
        self_ns: cell.self_time,
        total_ns: cell.total,
    };
    all.filter(|(_, cell)| cell.count > 0).map(object).collect()
}
