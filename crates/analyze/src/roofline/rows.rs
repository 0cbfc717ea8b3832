//! Figures by operation and shape.

use super::calls::{Call, Unknown};
use super::devices::{DeviceSpec, Roof, RoofTime};
use super::missing::Missing;
use super::operations::{Model, Operations};
use super::work::{DataType, OpKind, OpWork};
use ferrum_trace_model::{StringId, Trace};
use hashbrown::HashMap;
use std::cmp::Reverse;

/// Share of the roofline below which neither computation nor memory limits an operation.
pub const BOUND_SHARE_MIN: f64 = 0.2;

/// Calls of one operation with one shape. Times are nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct RooflineRow {
    /// Name of the operation.
    pub name: String,
    /// Its kind.
    pub kind: OpKind,
    /// Its shape as text.
    pub shape: String,
    /// Strides of its inputs as recorded, if they are.
    pub strides: Option<String>,
    /// Type in which it computes.
    pub data_type: Option<DataType>,
    /// Number of calls.
    pub count: u64,
    /// Number of calls that lie in another modelled operation. Sums leave them out.
    pub n_inside: u64,
    /// Sum of the times of all calls.
    pub time: i64,
    /// Sum of the times of the calls that lie in no other modelled operation.
    pub counted_time: i64,
    /// Work of one call.
    pub work: OpWork,
    /// Shortest time of one call on the device, if a device is known.
    pub roof: Option<RoofTime>,
}

/// Limit of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RooflineBound {
    /// The part of the device that it uses most.
    By(Roof),
    /// None: it reaches less than [`BOUND_SHARE_MIN`] of any limit.
    Neither,
}

impl RooflineRow {
    /// Returns the mean time of a call in seconds.
    pub fn mean_seconds(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.time as f64 / self.count as f64 / 1e9 }
    }

    /// Returns the rate in FLOP per second; `None` if it took no time.
    pub fn flop_rate(&self) -> Option<f64> {
        rate(self.work.flop, self.mean_seconds())
    }

    /// Returns the rate in bytes per second; `None` if it took no time or its bytes are unknown.
    pub fn byte_rate(&self) -> Option<f64> {
        rate(self.work.bytes?, self.mean_seconds())
    }

    /// Returns FLOP per byte.
    pub fn intensity(&self) -> Option<f64> {
        let bytes = self.work.bytes.filter(|&bytes| bytes > 0)?;
        Some(self.work.flop as f64 / bytes as f64)
    }

    /// Returns the shortest possible time as a share of the mean time, and the part of the device that needs it. Above
    /// 1, the model or the table of devices is wrong.
    pub fn share(&self) -> Option<(f64, Roof)> {
        let (seconds, roof) = self.roof?.longest()?;
        let mean = self.mean_seconds();
        (mean > 0.0).then(|| (seconds / mean, roof))
    }

    /// Returns its limit; `None` if that is unknown or its share is above 1.
    pub fn bound(&self) -> Option<RooflineBound> {
        let (share, roof) = self.share().filter(|(share, _)| *share <= 1.0)?;
        Some(if share < BOUND_SHARE_MIN { RooflineBound::Neither } else { RooflineBound::By(roof) })
    }

    /// Returns true if it is faster than the device can be.
    pub fn is_above_peak(&self) -> bool {
        self.share().is_some_and(|(share, _)| share > 1.0)
    }
}

fn rate(amount: u64, seconds: f64) -> Option<f64> {
    (seconds > 0.0).then(|| amount as f64 / seconds)
}

/// Time without a model. Times are nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmodelledRow {
    /// Name of the operation, or of the kernel if no operation launched it.
    pub name: String,
    /// The reason.
    pub missing: Missing,
    /// Number of kernels or operations.
    pub count: u64,
    /// Sum of their times.
    pub time: i64,
}

/// Sums calls by operation, shape and kernels, the one with the most time first.
pub(super) fn rows(
    trace: &Trace,
    operations: &Operations,
    calls: &[Call],
    device: Option<&DeviceSpec>,
) -> Vec<RooflineRow> {
    let mut places: HashMap<(u32, u32), usize> = HashMap::new();
    let mut rows: Vec<RooflineRow> = Vec::new();
    for call in calls {
        let Some(model) = operations.models.get(call.model as usize) else { continue };
        let place = *places.entry((call.model, call.kernels)).or_insert_with(|| {
            rows.push(empty(trace, model, device));
            rows.len() - 1
        });
        if let Some(row) = rows.get_mut(place) {
            add(row, call);
        }
    }
    rows.sort_by(|one, other| other.time.cmp(&one.time).then_with(|| one.name.cmp(&other.name)));
    rows
}

fn add(row: &mut RooflineRow, call: &Call) {
    row.count += 1;
    row.time = row.time.saturating_add(call.time);
    if call.is_outermost {
        row.counted_time = row.counted_time.saturating_add(call.time);
    } else {
        row.n_inside += 1;
    }
}

fn empty(trace: &Trace, model: &Model, device: Option<&DeviceSpec>) -> RooflineRow {
    let modelled = &model.modelled;
    RooflineRow {
        name: trace.strings.get(model.name).to_owned(),
        kind: modelled.kind,
        shape: modelled.shape.clone(),
        strides: model.strides.map(|strides| strides.content(&trace.strings).into_owned()),
        data_type: modelled.data_type,
        count: 0,
        n_inside: 0,
        time: 0,
        counted_time: 0,
        work: modelled.work,
        roof: device.map(|device| device.time(modelled.kind, modelled.data_type, modelled.work)),
    }
}

/// Sums time without a model by name and reason, the one with the most time first.
pub(super) fn unmodelled(trace: &Trace, unknown: &[Unknown]) -> Vec<UnmodelledRow> {
    let mut sums: HashMap<(StringId, Missing), (u64, i64)> = HashMap::new();
    for it in unknown {
        let (count, time) = sums.entry((it.name, it.missing)).or_default();
        (*count, *time) = (*count + 1, time.saturating_add(it.time));
    }
    let row = |((name, missing), (count, time)): ((StringId, Missing), (u64, i64))| {
        let name = trace.strings.get(name).to_owned();
        UnmodelledRow { name, missing, count, time }
    };
    let mut rows: Vec<UnmodelledRow> = sums.into_iter().map(row).collect();
    rows.sort_by(|one, other| {
        (Reverse(one.time), &one.name, one.missing).cmp(&(Reverse(other.time), &other.name, other.missing))
    });
    rows
}
