//! The object of `roofline --json`.

use super::report::RooflineReport;
use super::text::CONVENTION;
use crate::input::source::Source;
use crate::render::captures::CaptureObject;
use crate::render::json::{FileObject, LossesObject, RecorderObject};
use ferrum_trace_analyze::{
    DataType, DeviceSpec, PhaseUtilization, RooflineBound, RooflineRow, StepUtilization, UnmodelledRow, Utilization,
};
use serde::Serialize;
use std::collections::BTreeMap;

/// The object for one trace.
#[derive(Serialize)]
pub(crate) struct RooflineObject<'a> {
    #[serde(flatten)]
    file: FileObject<'a>,
    timed_on: &'static str,
    device: Option<DeviceObject<'a>>,
    convention: &'static str,
    modelled_ns: i64,
    unmodelled_ns: i64,
    rows: Vec<RowObject<'a>>,
    unmodelled: Vec<UnmodelledObject<'a>>,
    phases: Vec<PhaseObject>,
    steps: Vec<StepObject>,
    trace: UtilizationObject,
    #[serde(skip_serializing_if = "Option::is_none")]
    capture: Option<CaptureObject<'a>>,
    findings: &'a [String],
    losses: LossesObject<'a>,
    recorder: Option<RecorderObject<'a>>,
    notes: Vec<&'a str>,
}

#[derive(Serialize)]
struct DeviceObject<'a> {
    name: &'a str,
    memory_gb_s: Option<f64>,
    link_gb_s: Option<f64>,
    matrix: BTreeMap<&'static str, f64>,
    vector: BTreeMap<&'static str, f64>,
}

#[derive(Serialize)]
struct RowObject<'a> {
    op: &'a str,
    kind: &'static str,
    shape: &'a str,
    strides: Option<&'a str>,
    dtype: Option<&'static str>,
    count: u64,
    inside: u64,
    time_ns: i64,
    mean_ns: f64,
    flop: u64,
    bytes: Option<u64>,
    flop_per_byte: Option<f64>,
    tflop_s: Option<f64>,
    gb_s: Option<f64>,
    roofline_ns: Option<f64>,
    roof: Option<&'static str>,
    share: Option<f64>,
    bound: Option<&'static str>,
}

#[derive(Serialize)]
struct UnmodelledObject<'a> {
    name: &'a str,
    reason: &'static str,
    count: u64,
    time_ns: i64,
}

#[derive(Serialize)]
struct UtilizationObject {
    time_ns: i64,
    flop: u128,
    bytes: u128,
    mfu: Option<f64>,
    mbu: Option<f64>,
}

#[derive(Serialize)]
struct PhaseObject {
    phase: Option<&'static str>,
    steps: u64,
    #[serde(flatten)]
    utilization: UtilizationObject,
}

#[derive(Serialize)]
struct StepObject {
    step: u32,
    phase: Option<&'static str>,
    #[serde(flatten)]
    utilization: UtilizationObject,
}

impl<'a> RooflineObject<'a> {
    pub(crate) fn new(source: &'a Source, report: &'a RooflineReport) -> Self {
        let roofline = &report.roofline;
        Self {
            file: FileObject::new(&source.name),
            timed_on: if roofline.is_on_device { "device" } else { "host" },
            device: report.device.as_ref().map(DeviceObject::new),
            convention: CONVENTION,
            modelled_ns: roofline.modelled_time,
            unmodelled_ns: roofline.unmodelled_time,
            rows: roofline.rows.iter().map(RowObject::new).collect(),
            unmodelled: roofline.unmodelled.iter().map(UnmodelledObject::new).collect(),
            phases: roofline.phases.iter().map(PhaseObject::new).collect(),
            steps: roofline.steps.iter().map(StepObject::new).collect(),
            trace: UtilizationObject::new(&roofline.whole),
            capture: report.transfer.as_ref().map(CaptureObject::from),
            findings: &report.findings,
            losses: (&report.loaded.losses).into(),
            recorder: RecorderObject::of(&report.loaded.recordings),
            notes: report.notes.iter().chain(&report.missing).map(String::as_str).collect(),
        }
    }
}

impl<'a> DeviceObject<'a> {
    fn new(device: &'a DeviceSpec) -> Self {
        let rates = |rates: &[(DataType, f64)]| rates.iter().map(|&(it, rate)| (it.name(), rate / 1e12)).collect();
        Self {
            name: &device.name,
            memory_gb_s: device.memory.map(|rate| rate / 1e9),
            link_gb_s: device.link.map(|rate| rate / 1e9),
            matrix: rates(&device.matrix),
            vector: rates(&device.vector),
        }
    }
}

impl<'a> RowObject<'a> {
    fn new(row: &'a RooflineRow) -> Self {
        let longest = row.roof.and_then(|roof| roof.longest());
        Self {
            op: &row.name,
            kind: row.kind.name(),
            shape: &row.shape,
            strides: row.strides.as_deref(),
            dtype: row.data_type.map(DataType::name),
            count: row.count,
            inside: row.n_inside,
            time_ns: row.time,
            mean_ns: row.mean_seconds() * 1e9,
            flop: row.work.flop,
            bytes: row.work.bytes,
            flop_per_byte: row.intensity(),
            tflop_s: row.flop_rate().map(|rate| rate / 1e12),
            gb_s: row.byte_rate().map(|rate| rate / 1e9),
            roofline_ns: longest.map(|(seconds, _)| seconds * 1e9),
            roof: longest.map(|(_, roof)| roof.name()),
            share: row.share().map(|(share, _)| share).filter(|share| *share <= 1.0),
            bound: row.bound().map(bound_name),
        }
    }
}

/// Returns the name of a limit.
pub(super) fn bound_name(bound: RooflineBound) -> &'static str {
    match bound {
        RooflineBound::By(roof) => roof.name(),
        RooflineBound::Neither => "neither",
    }
}

impl<'a> UnmodelledObject<'a> {
    fn new(row: &'a UnmodelledRow) -> Self {
        Self { name: &row.name, reason: row.missing.describe(), count: row.count, time_ns: row.time }
    }
}

impl UtilizationObject {
    fn new(utilization: &Utilization) -> Self {
        let at_most_all = |share: Option<f64>| share.filter(|share| *share <= 1.0);
        Self {
            time_ns: utilization.time,
            flop: utilization.flop,
            bytes: utilization.bytes,
            mfu: at_most_all(utilization.mfu()),
            mbu: at_most_all(utilization.mbu()),
        }
    }
}

impl PhaseObject {
    fn new(phase: &PhaseUtilization) -> Self {
        Self {
            phase: phase.phase.map(|phase| phase.as_str()),
            steps: phase.n_steps,
            utilization: UtilizationObject::new(&phase.utilization),
        }
    }
}

impl StepObject {
    fn new(step: &StepUtilization) -> Self {
        Self {
            step: step.number,
            phase: step.phase.map(|phase| phase.as_str()),
            utilization: UtilizationObject::new(&step.utilization),
        }
    }
}
