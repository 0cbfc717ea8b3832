//! The object of `steps`.

use super::report::StepsReport;
use crate::flags::By;
use crate::input::source::Source;
use crate::render::captures::CaptureObject;
use crate::render::json::{DurationsObject, FileObject, TraceObject};
use ferrum_trace_analyze::{
    Attribution, DeviceTime, Difference, DifferenceSubject, GapPlace, GapSum, KeyedStepGroup, LayerTime, NameTime,
    OpTime, SlowStep, Split, Step, StepGroup, StepKeyValue,
};
use ferrum_trace_model::vocab::{Op, Phase};
use ferrum_trace_model::{StringId, Trace};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
pub(crate) struct StepsObject<'a> {
    #[serde(flatten)]
    file: FileObject<'a>,
    count: u64,
    sources: Vec<SourceObject>,
    tracks: usize,
    nested: usize,
    unfinished: usize,
    wall_ns: i64,
    all: GroupObject,
    by: Vec<String>,
    groups: Vec<KeyedGroupObject>,
    gaps: Vec<GapObject<'a>>,
    idle_gaps: Vec<GapObject<'a>>,
    attribution: Option<AttributionObject>,
    device_ops: Vec<OpObject>,
    device_other: Vec<NameObject<'a>>,
    host_ops: Vec<OpObject>,
    host_other: Vec<NameObject<'a>>,
    layers: Vec<LayerObject>,
    slowest: Vec<SlowObject<'a>>,
    steps: Vec<StepObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    capture: Option<CaptureObject<'a>>,
    #[serde(flatten)]
    trace: TraceObject<'a>,
}

#[derive(Serialize)]
struct SourceObject {
    source: &'static str,
    count: u64,
}

#[derive(Serialize)]
struct KeyedGroupObject {
    /// Arguments of `--by`.
    #[serde(flatten)]
    args: BTreeMap<String, String>,
    #[serde(flatten)]
    group: GroupObject,
}

#[derive(Serialize)]
struct LayerObject {
    layer: Option<u32>,
    count: u64,
    total_ns: i64,
    device_count: u64,
    device_total_ns: i64,
}

#[derive(Serialize)]
struct GroupObject {
    phase: Option<&'static str>,
    batch_from: Option<u64>,
    batch_to: Option<u64>,
    count: u64,
    total_ns: i64,
    #[serde(flatten)]
    durations: DurationsObject,
    prefill_tokens: u64,
    decode_tokens: u64,
    without_tokens: u64,
    incomplete: u64,
    result_ns: i64,
    prefill_tokens_per_s: Option<f64>,
    decode_tokens_per_s: Option<f64>,
    prefill_tokens_per_device_s: Option<f64>,
    decode_tokens_per_device_s: Option<f64>,
    #[serde(flatten)]
    split: SplitObject,
    mark_ns: i64,
    unexplained_ns: i64,
    coverage: f64,
    device: DeviceObject,
}

#[derive(Serialize)]
struct SplitObject {
    host_ns: i64,
    device_ns: i64,
    both_ns: i64,
    neither_ns: i64,
}

#[derive(Serialize)]
struct DeviceObject {
    slices: u64,
    span_ns: i64,
    busy_ns: i64,
    idle_ns: i64,
}

#[derive(Serialize)]
struct GapObject<'a> {
    after: Option<&'a str>,
    before: Option<&'a str>,
    count: u64,
    total_ns: i64,
    max_ns: i64,
}

#[derive(Serialize)]
struct AttributionObject {
    by_launch: u64,
    by_operation: u64,
    by_flow: u64,
    by_annotation: u64,
    by_time: u64,
    outside: u64,
    outside_ns: i64,
}

#[derive(Serialize)]
struct OpObject {
    op: &'static str,
    count: u64,
    total_ns: i64,
}

#[derive(Serialize)]
struct NameObject<'a> {
    name: &'a str,
    count: u64,
    total_ns: i64,
}

#[derive(Serialize)]
struct SlowObject<'a> {
    step: Option<StepObject<'a>>,
    median: Option<StepObject<'a>>,
    excess_ns: i64,
    host: Vec<DifferenceObject<'a>>,
    device: Vec<DifferenceObject<'a>>,
    gap: Option<GapObject<'a>>,
}

#[derive(Serialize)]
struct DifferenceObject<'a> {
    what: &'static str,
    name: Option<&'a str>,
    here_ns: i64,
    median_ns: i64,
    count: u64,
    median_count: u64,
}

#[derive(Serialize)]
struct StepObject<'a> {
    number: usize,
    name: &'a str,
    source: &'static str,
    phase: Option<&'static str>,
    batch: Option<u64>,
    prefill_tokens: Option<u64>,
    decode_tokens: Option<u64>,
    context_tokens: Option<u64>,
    start_ns: i64,
    duration_ns: i64,
    #[serde(flatten)]
    split: SplitObject,
    mark_ns: i64,
    unexplained_ns: i64,
    incomplete: bool,
    unanswered_launches: u32,
    result_ns: i64,
    device: DeviceObject,
}

impl<'a> StepsObject<'a> {
    /// `each` lists every step.
    pub(crate) fn new(source: &'a Source, report: &'a StepsReport, each: bool) -> Self {
        let (trace, steps) = (&report.loaded.trace, &report.steps);
        let step = |place: usize| Some(StepObject::new(trace, place, steps.steps.get(place)?));
        Self {
            file: FileObject::new(&source.name),
            count: steps.all.count,
            sources: steps
                .sources
                .iter()
                .map(|(source, count)| SourceObject { source: source.name(), count: *count })
                .collect(),
            tracks: steps.n_tracks,
            nested: steps.n_nested,
            unfinished: steps.n_unfinished,
            wall_ns: steps.wall,
            all: (&steps.all).into(),
            by: report.by.iter().map(By::name).collect(),
            groups: report.groups.iter().map(|group| KeyedGroupObject::new(report, group)).collect(),
            gaps: steps.gaps.iter().map(|gap| GapObject::new(trace, gap)).collect(),
            idle_gaps: steps.idle_gaps.iter().map(|gap| GapObject::new(trace, gap)).collect(),
            attribution: steps.attribution.map(AttributionObject::from),
            device_ops: steps.device_ops.ops.iter().map(OpObject::from).collect(),
            device_other: steps.device_ops.other.iter().map(|name| NameObject::new(trace, name)).collect(),
            host_ops: steps.host_ops.ops.iter().map(OpObject::from).collect(),
            host_other: steps.host_ops.other.iter().map(|name| NameObject::new(trace, name)).collect(),
            layers: steps.layer_times.iter().map(LayerObject::from).collect(),
            slowest: steps.slowest.iter().map(|slow| SlowObject::new(trace, slow, step)).collect(),
            steps: (0..steps.steps.len()).take_while(|_| each).filter_map(step).collect(),
            capture: report.transfer.as_ref().map(CaptureObject::from),
            trace: TraceObject::new(
                &report.loaded,
                &report.notes,
                report.missing.as_ref().or(report.missing_key.as_ref()),
            ),
        }
    }
}

fn text(trace: &Trace, id: Option<StringId>) -> Option<&str> {
    id.map(|id| trace.strings.get(id))
}

impl KeyedGroupObject {
    fn new(report: &StepsReport, group: &KeyedStepGroup) -> Self {
        let trace = &report.loaded.trace;
        let arg = |(value, by): (&StepKeyValue, &By)| match value {
            StepKeyValue::Label(label) => Some((by.name(), label.map_or_else(|| by.none(), |label| label.text(trace)))),
            StepKeyValue::Phase(_) | StepKeyValue::Batch(_) => None,
        };
        Self { args: group.key.iter().zip(&report.by).filter_map(arg).collect(), group: (&group.group).into() }
    }
}

impl From<&LayerTime> for LayerObject {
    fn from(time: &LayerTime) -> Self {
        let LayerTime { layer, count, total, n_on_device, device_total } = *time;
        Self { layer, count, total_ns: total, device_count: n_on_device, device_total_ns: device_total }
    }
}

impl From<&StepGroup> for GroupObject {
    fn from(group: &StepGroup) -> Self {
        let (rates, device_rates) = (group.tokens_per_second(), group.tokens_per_device_second());
        Self {
            phase: group.phase.map(Phase::as_str),
            batch_from: group.batch.map(|batch| batch.from),
            batch_to: group.batch.map(|batch| batch.to),
            count: group.count,
            total_ns: group.total,
            durations: DurationsObject::new(group.mean(), &group.durations),
            prefill_tokens: group.prefill_tokens,
            decode_tokens: group.decode_tokens,
            without_tokens: group.n_without_tokens,
            incomplete: group.n_incomplete,
            result_ns: group.result_time,
            prefill_tokens_per_s: rates.map(|(prefill, _)| prefill),
            decode_tokens_per_s: rates.map(|(_, decode)| decode),
            prefill_tokens_per_device_s: device_rates.map(|(prefill, _)| prefill),
            decode_tokens_per_device_s: device_rates.map(|(_, decode)| decode),
            split: group.split.into(),
            mark_ns: group.mark_total,
            unexplained_ns: group.unexplained,
            coverage: group.coverage(),
            device: group.device.into(),
        }
    }
}

impl From<Split> for SplitObject {
    fn from(Split { host, device, both, neither }: Split) -> Self {
        Self { host_ns: host, device_ns: device, both_ns: both, neither_ns: neither }
    }
}

impl From<DeviceTime> for DeviceObject {
    fn from(device: DeviceTime) -> Self {
        Self { slices: device.n_slices, span_ns: device.span, busy_ns: device.busy, idle_ns: device.idle() }
    }
}

impl From<Attribution> for AttributionObject {
    fn from(attribution: Attribution) -> Self {
        let Attribution { by_launch, by_operation, by_flow, by_annotation, by_time, outside, outside_total } =
            attribution;
        Self { by_launch, by_operation, by_flow, by_annotation, by_time, outside, outside_ns: outside_total }
    }
}

impl From<&OpTime> for OpObject {
    fn from(time: &OpTime) -> Self {
        Self { op: time.op.map_or("other", Op::as_str), count: time.count, total_ns: time.total }
    }
}

impl<'a> NameObject<'a> {
    fn new(trace: &'a Trace, time: &NameTime) -> Self {
        Self { name: trace.strings.get(time.name), count: time.count, total_ns: time.total }
    }
}

impl<'a> GapObject<'a> {
    fn new(trace: &'a Trace, gap: &GapSum) -> Self {
        Self { count: gap.count, total_ns: gap.total, max_ns: gap.longest, ..Self::one(trace, gap.place, gap.longest) }
    }

    fn one(trace: &'a Trace, place: GapPlace, length: i64) -> Self {
        let GapPlace { after, before } = place;
        Self { after: text(trace, after), before: text(trace, before), count: 1, total_ns: length, max_ns: length }
    }
}

impl<'a> SlowObject<'a> {
    fn new(trace: &'a Trace, slow: &SlowStep, step: impl Fn(usize) -> Option<StepObject<'a>>) -> Self {
        let differences = |differences: &[Difference]| {
            differences.iter().map(|difference| DifferenceObject::new(trace, difference)).collect()
        };
        Self {
            step: step(slow.step),
            median: step(slow.median),
            excess_ns: slow.excess,
            host: differences(&slow.host),
            device: differences(&slow.device),
            gap: slow.gap.map(|(place, length)| GapObject::one(trace, place, length)),
        }
    }
}

impl<'a> DifferenceObject<'a> {
    fn new(trace: &'a Trace, difference: &Difference) -> Self {
        let (what, name) = match difference.what {
            DifferenceSubject::Name(name) => ("name", Some(trace.strings.get(name))),
            DifferenceSubject::NoSlice => ("no_span", None),
            DifferenceSubject::DeviceOnly => ("device_only", None),
            DifferenceSubject::Neither => ("neither", None),
            DifferenceSubject::DeviceOp(op) => ("op", Some(op.map_or("other", Op::as_str))),
            DifferenceSubject::DeviceIdle => ("idle", None),
        };
        let Difference { here, median, count, median_count, .. } = *difference;
        Self { what, name, here_ns: here, median_ns: median, count, median_count }
    }
}

impl<'a> StepObject<'a> {
    fn new(trace: &'a Trace, place: usize, step: &Step) -> Self {
        Self {
            number: place + 1,
            name: trace.strings.get(trace.slices.name[step.slice as usize]),
            source: step.mark.source.name(),
            phase: step.mark.phase.map(Phase::as_str),
            batch: step.mark.batch,
            prefill_tokens: step.mark.prefill_tokens,
            decode_tokens: step.mark.decode_tokens,
            context_tokens: step.mark.context_tokens,
            start_ns: step.start.saturating_sub(trace.census.first.unwrap_or(step.start)),
            duration_ns: step.duration,
            split: step.split.into(),
            mark_ns: step.mark_duration,
            unexplained_ns: step.unexplained,
            incomplete: step.is_incomplete,
            unanswered_launches: step.n_unanswered,
            result_ns: step.result_time,
            device: step.device.into(),
        }
    }
}
