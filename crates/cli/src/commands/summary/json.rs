//! The object of `summary`.

use super::args::SummaryArgs;
use super::report::SummaryReport;
use crate::flags::By;
use crate::input::source::Source;
use crate::render::captures::CaptureObject;
use crate::render::json::{DurationsObject, FileObject, FormatObject, TraceObject};
use ferrum_trace_analyze::{AsyncCount, AsyncRest, AsyncRow, Device, FlowCount, Key, LabelSets, Rest, Row};
use ferrum_trace_model::{Anomalies, Census};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
pub(crate) struct SummaryObject<'a> {
    #[serde(flatten)]
    file: FileObject<'a>,
    #[serde(flatten)]
    format: FormatObject,
    span_ns: i64,
    wall_ns: i64,
    processes: usize,
    tracks: usize,
    events: u64,
    phases: BTreeMap<String, u64>,
    slices: usize,
    selected: u64,
    partial_overlaps: usize,
    anomalies: AnomaliesObject,
    #[serde(flatten)]
    trace: TraceObject<'a>,
    devices: Vec<DeviceObject>,
    asyncs: AsyncsObject,
    flows: FlowsObject,
    by: Vec<String>,
    sort: &'static str,
    rows: Vec<RowObject>,
    rest: RestObject,
    all: RestObject,
    async_rows: Vec<AsyncRowObject>,
    async_rest: AsyncRestObject,
    async_all: AsyncRestObject,
    #[serde(skip_serializing_if = "Option::is_none")]
    capture: Option<CaptureObject<'a>>,
}

#[derive(Serialize)]
struct AnomaliesObject {
    unusable: u64,
    unclosed: u64,
    unopened: u64,
    misnamed: u64,
    unordered_tracks: u64,
}

#[derive(Serialize)]
struct DeviceObject {
    process: String,
    slices: usize,
    kernels: usize,
    comm_kernels: usize,
    span_ns: i64,
    busy_ns: i64,
    idle_ns: i64,
    comm_ns: i64,
    comp_ns: i64,
    overlap_ns: i64,
    exposed_comm_ns: i64,
}

#[derive(Serialize)]
struct AsyncsObject {
    groups: u64,
    balanced: u64,
    begins: u64,
    steps: u64,
    finishes: u64,
}

#[derive(Serialize)]
struct FlowsObject {
    groups: u64,
    complete: u64,
    begins: u64,
    steps: u64,
    finishes: u64,
}

#[derive(Serialize)]
struct RowObject {
    #[serde(flatten)]
    key: BTreeMap<String, String>,
    count: u64,
    total_ns: i64,
    self_ns: i64,
    share_of_wall: f64,
    #[serde(flatten)]
    durations: DurationsObject,
}

#[derive(Serialize)]
struct RestObject {
    rows: usize,
    count: u64,
    total_ns: i64,
    self_ns: i64,
}

#[derive(Serialize)]
struct AsyncRowObject {
    #[serde(flatten)]
    key: BTreeMap<String, String>,
    count: u64,
    unfinished: u64,
    total_ns: i64,
    #[serde(flatten)]
    durations: DurationsObject,
    busy_ns: Option<i64>,
    idle_ns: Option<i64>,
}

#[derive(Serialize)]
struct AsyncRestObject {
    rows: usize,
    count: u64,
    unfinished: u64,
    total_ns: i64,
}

impl<'a> SummaryObject<'a> {
    pub(crate) fn new(source: &'a Source, report: &'a SummaryReport, args: &SummaryArgs) -> Self {
        let (trace, facts) = (&report.loaded.trace, &report.facts);
        Self {
            file: FileObject::new(&source.name),
            format: FormatObject::new(facts.kind, &facts.containers),
            span_ns: trace.census.span(),
            wall_ns: report.summary.wall,
            processes: report.n_processes,
            tracks: report.n_tracks,
            events: trace.census.events,
            phases: phases(&trace.census),
            slices: trace.slices.len(),
            selected: report.summary.all.count,
            partial_overlaps: report.n_partial_overlaps,
            anomalies: trace.census.anomalies.into(),
            trace: TraceObject::new(&report.loaded, &report.notes, report.missing.as_ref()),
            devices: report.devices.iter().map(|device| DeviceObject::new(report, device)).collect(),
            asyncs: report.asyncs.into(),
            flows: report.flows.into(),
            by: args.by.iter().map(By::name).collect(),
            sort: args.sort.name(),
            rows: report.summary.rows.iter().map(|row| RowObject::new(report, row, &args.by)).collect(),
            rest: report.summary.rest.into(),
            all: report.summary.all.into(),
            async_rows: report
                .async_summary
                .rows
                .iter()
                .map(|row| AsyncRowObject::new(report, row, &args.by))
                .collect(),
            async_rest: report.async_summary.rest.into(),
            async_all: report.async_summary.all.into(),
            capture: report.transfer.as_ref().map(CaptureObject::from),
        }
    }
}

fn phases(census: &Census) -> BTreeMap<String, u64> {
    let spelled = |phase: usize| if phase == 0 { String::new() } else { char::from(phase as u8).to_string() };
    let seen = census.phases.iter().enumerate().filter(|(_, n_events)| **n_events > 0);
    seen.map(|(phase, &n_events)| (spelled(phase), n_events)).collect()
}

impl DeviceObject {
    fn new(report: &SummaryReport, device: &Device) -> Self {
        Self {
            process: report.device_label(device),
            slices: device.n_slices,
            kernels: device.n_kernels,
            comm_kernels: device.n_comm,
            span_ns: device.span,
            busy_ns: device.busy,
            idle_ns: device.idle,
            comm_ns: device.comm,
            comp_ns: device.comp,
            overlap_ns: device.overlap,
            exposed_comm_ns: device.exposed_comm,
        }
    }
}

impl RowObject {
    fn new(report: &SummaryReport, row: &Row, by: &[By]) -> Self {
        Self {
            key: key(report, &report.summary.labels, &row.key, by),
            count: row.count,
            total_ns: row.total,
            self_ns: row.self_time,
            share_of_wall: report.summary.share_of_wall(row.self_time),
            durations: DurationsObject::new(row.mean(), &row.durations),
        }
    }
}

impl AsyncRowObject {
    fn new(report: &SummaryReport, row: &AsyncRow, by: &[By]) -> Self {
        Self {
            key: key(report, &report.async_summary.labels, &row.key, by),
            count: row.count,
            unfinished: row.n_unfinished,
            total_ns: row.total,
            durations: DurationsObject::new(row.mean(), &row.durations),
            busy_ns: row.busy.map(|it| it.busy),
            idle_ns: row.busy.map(|it| it.idle),
        }
    }
}

/// Returns the values of the grouping keys of a row.
fn key(report: &SummaryReport, sets: &LabelSets, key: &Key, by: &[By]) -> BTreeMap<String, String> {
    by.iter().map(By::name).zip(report.key_texts(sets, key, by)).collect()
}

impl From<AsyncRest> for AsyncRestObject {
    fn from(rest: AsyncRest) -> Self {
        Self { rows: rest.n_rows, count: rest.count, unfinished: rest.n_unfinished, total_ns: rest.total }
    }
}

impl From<Rest> for RestObject {
    fn from(rest: Rest) -> Self {
        Self { rows: rest.n_rows, count: rest.count, total_ns: rest.total, self_ns: rest.self_time }
    }
}

impl From<Anomalies> for AnomaliesObject {
    fn from(anomalies: Anomalies) -> Self {
        let Anomalies { unusable, unclosed, unopened, misnamed, unordered_tracks } = anomalies;
        Self { unusable, unclosed, unopened, misnamed, unordered_tracks }
    }
}

impl From<AsyncCount> for AsyncsObject {
    fn from(asyncs: AsyncCount) -> Self {
        let AsyncCount { groups, balanced, begins, steps, finishes, .. } = asyncs;
        Self { groups, balanced, begins, steps, finishes }
    }
}

impl From<FlowCount> for FlowsObject {
    fn from(flows: FlowCount) -> Self {
        let FlowCount { groups, complete, begins, steps, finishes } = flows;
        Self { groups, complete, begins, steps, finishes }
    }
}
