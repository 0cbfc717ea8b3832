//! The object of `layers`.

use super::report::LayersReport;
use crate::input::source::Source;
use crate::render::json::{FileObject, LossesObject, RecorderObject};
use ferrum_trace_analyze::{Cell, PhaseLayers};
use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct LayersObject<'a> {
    #[serde(flatten)]
    file: FileObject<'a>,
    layer_from: &'static str,
    categories: Vec<&'a str>,
    phases: Vec<PhaseObject<'a>>,
    losses: LossesObject<'a>,
    recorder: Option<RecorderObject<'a>>,
    notes: Vec<&'a str>,
}

#[derive(Serialize)]
struct PhaseObject<'a> {
    phase: Option<&'a str>,
    slices: usize,
    rows: Vec<RowObject<'a>>,
    without_layer: Vec<CellObject<'a>>,
}

#[derive(Serialize)]
struct RowObject<'a> {
    layer: u32,
    count: u64,
    self_ns: i64,
    total_ns: i64,
    cells: Vec<CellObject<'a>>,
}

#[derive(Serialize)]
struct CellObject<'a> {
    cat: &'a str,
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
            categories: layers.categories.iter().map(|&category| report.category(category)).collect(),
            phases: layers.phases.iter().map(|phase| PhaseObject::new(report, phase)).collect(),
            losses: (&report.loaded.losses).into(),
            recorder: RecorderObject::of(&report.loaded.recordings),
            notes: report.notes.iter().chain(&report.missing).map(String::as_str).collect(),
        }
    }
}

impl<'a> PhaseObject<'a> {
    fn new(report: &'a LayersReport, phase: &'a PhaseLayers) -> Self {
        let layers = &report.layers;
        let row = |(place, &layer): (usize, &u32)| {
            let Cell { count, self_time, total } = layers.row_sum(phase, place);
            let cells = cells(report, |column| phase.cell(place, column));
            RowObject { layer, count, self_ns: self_time, total_ns: total, cells }
        };
        Self {
            phase: phase.phase.as_deref(),
            slices: phase.n_enclosing,
            rows: layers.layers.iter().enumerate().map(row).collect(),
            without_layer: cells(report, |column| phase.without_layer[column]),
        }
    }
}

/// Returns the cells that are not empty.
fn cells(report: &LayersReport, cell: impl Fn(usize) -> Cell) -> Vec<CellObject<'_>> {
    let all = report.layers.categories.iter().enumerate().map(|(column, &category)| {
        let Cell { count, self_time, total } = cell(column);
        CellObject { cat: report.category(category), count, self_ns: self_time, total_ns: total }
    });
    all.filter(|cell| cell.count > 0).collect()
}
