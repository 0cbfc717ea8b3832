//! Time by operation.

use super::device::Work;
use super::find::MarkedSlice;
use super::host::inside;
use crate::ops::Ops;
use crate::structure::nesting::Nesting;
use ferrum_trace_model::vocab::Op;
use ferrum_trace_model::{StringId, Trace};
use hashbrown::HashMap;
use std::cmp::Reverse;

/// Time of one operation. Times are nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpTime {
    /// The operation; `None` for slices that match no operation.
    pub op: Option<Op>,
    /// Number of slices.
    pub count: u64,
    /// Sum of their times.
    pub total: i64,
}

/// Time of one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameTime {
    /// The name.
    pub name: StringId,
    /// Number of slices.
    pub count: u64,
    /// Sum of their times.
    pub total: i64,
}

/// Time by operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpTimes {
    /// Operations, the one with the most time first.
    pub ops: Vec<OpTime>,
    /// Names that match no operation, the one with the most time first.
    pub other: Vec<NameTime>,
}

/// Returns the durations of kernels and copies in steps.
pub(super) fn of_device(trace: &Trace, works: &[Work]) -> OpTimes {
    let slices = works.iter().map(|work| work.slice as usize);
    sum(trace, slices.map(|slice| (slice, trace.slices.duration[slice])))
}

/// Returns the self times on the tracks of steps.
pub(super) fn of_host(trace: &Trace, nesting: &Nesting, steps: &[MarkedSlice]) -> OpTimes {
    let slices = steps.iter().flat_map(|step| inside(trace, nesting, step)).map(|&slice| slice as usize);
    sum(trace, slices.map(|slice| (slice, nesting.self_time[slice])))
}

fn sum(trace: &Trace, slices: impl Iterator<Item = (usize, i64)>) -> OpTimes {
    let mut ops = Ops::of(trace);
    let mut sums: HashMap<Option<Op>, (u64, i64)> = HashMap::new();
    let mut others: HashMap<StringId, (u64, i64)> = HashMap::new();
    let add = |sum: &mut (u64, i64), time: i64| *sum = (sum.0 + 1, sum.1.saturating_add(time));
    for (slice, time) in slices {
        let name = trace.slices.name[slice];
        let op = ops.get(trace, trace.slices.category[slice], name);
        add(sums.entry(op).or_default(), time);
        if op.is_none() {
            add(others.entry(name).or_default(), time);
        }
    }
    let mut times = OpTimes {
        ops: sums.into_iter().map(|(op, (count, total))| OpTime { op, count, total }).collect(),
        other: others.into_iter().map(|(name, (count, total))| NameTime { name, count, total }).collect(),
    };
    times.ops.sort_by_key(|time| (Reverse(time.total), time.op));
    times.other.sort_by_key(|time| (Reverse(time.total), time.name));
    times
}
