//! Steps that exceed the median of their group, and their differences from it.

use super::device::Work;
use super::find::MarkedSlice;
use super::groups::Grouping;
use super::host;
use super::step::Step;
use crate::ops::Ops;
use crate::structure::gaps::GapPlace;
use crate::structure::nesting::Nesting;
use ferrum_trace_model::vocab::Op;
use ferrum_trace_model::{StringId, Trace};
use hashbrown::{HashMap, HashSet};
use std::cmp::Reverse;
use std::hash::Hash;

/// Maximum number of differences on each side.
const DIFFERENCES_MAX: usize = 8;

/// Step that takes longer than the median step of its phase and batch. Times are nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlowStep {
    /// Index in [`Steps::steps`](super::Steps::steps).
    pub step: usize,
    /// Index of the median step that it is compared with.
    pub median: usize,
    /// Excess over the median.
    pub excess: i64,
    /// Differences on the track, and in the time after the mark in which devices work or wait, the largest first. All
    /// differences, including those left out, sum to the excess.
    pub host: Vec<Difference>,
    /// Differences on devices. They do not sum to the excess, because devices do several things at once.
    pub device: Vec<Difference>,
    /// The longest stretch that is in no slice.
    pub gap: Option<(GapPlace, i64)>,
}

/// Subject of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DifferenceSubject {
    /// Self time of slices of this name.
    Name(StringId),
    /// Time of the mark that is in no slice.
    NoSlice,
    /// Time in which only devices work for the step.
    DeviceOnly,
    /// Time in which neither the host nor a device works for the step.
    Neither,
    /// Time of kernels and copies, by operation.
    DeviceOp(Option<Op>),
    /// Time between kernels.
    DeviceIdle,
}

/// Time of one subject in the slow step and in the median step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The subject.
    pub what: DifferenceSubject,
    /// Time in the slow step.
    pub here: i64,
    /// Time in the median step.
    pub median: i64,
    /// Number of slices in the slow step.
    pub count: u64,
    /// Number of slices in the median step.
    pub median_count: u64,
}

impl Difference {
    /// Returns the excess over the median step.
    pub fn excess(&self) -> i64 {
        self.here.saturating_sub(self.median)
    }
}

/// Returns the steps that exceed the median of their group most.
pub(super) fn slowest(
    trace: &Trace,
    nesting: &Nesting,
    (steps, marked): (&[Step], &[MarkedSlice]),
    works: &[Work],
    grouping: &Grouping,
    n_wanted: usize,
) -> Vec<SlowStep> {
    let mut slow: Vec<(i64, u32, u32)> = Vec::new();
    for members in &grouping.members {
        let is_complete = |place: &&u32| !steps[**place as usize].is_incomplete;
        let complete: Vec<u32> = members.iter().filter(is_complete).copied().collect();
        let members = if complete.is_empty() { members } else { &complete };
        let Some(&median) = members.get(members.len().div_ceil(2).saturating_sub(1)) else { continue };
        let duration = |place: u32| steps[place as usize].duration;
        let excess = |&place: &u32| (duration(place).saturating_sub(duration(median)), place, median);
        slow.extend(members.iter().map(excess).filter(|&(excess, ..)| excess > 0));
    }
    slow.sort_unstable_by_key(|&(excess, place, _)| (Reverse(excess), place));
    slow.truncate(n_wanted);
    let devices = device_parts(trace, works, slow.iter().flat_map(|&(_, place, median)| [place, median]));
    let compare = Compare { trace, nesting, steps, marked, devices };
    slow.into_iter().map(|(excess, place, median)| compare.slow(excess, place, median)).collect()
}

/// Time and count by subject.
type Parts<K> = HashMap<K, (i64, u64)>;

/// Returns the device work of the wanted steps.
fn device_parts(trace: &Trace, works: &[Work], wanted: impl Iterator<Item = u32>) -> HashMap<u32, Parts<Option<Op>>> {
    let wanted: HashSet<u32> = wanted.collect();
    let mut ops = Ops::of(trace);
    let mut parts: HashMap<u32, Parts<Option<Op>>> = HashMap::new();
    for of_step in works.chunk_by(|one, other| one.step == other.step) {
        let Some(step) = of_step.first().map(|work| work.step).filter(|step| wanted.contains(step)) else { continue };
        let parts = parts.entry(step).or_default();
        for slice in of_step.iter().map(|work| work.slice as usize) {
            let op = ops.get(trace, trace.slices.category[slice], trace.slices.name[slice]);
            let (time, count) = parts.entry(op).or_default();
            *time = time.saturating_add(trace.slices.duration[slice]);
            *count += 1;
        }
    }
    parts
}

struct Compare<'a> {
    trace: &'a Trace,
    nesting: &'a Nesting,
    steps: &'a [Step],
    marked: &'a [MarkedSlice],
    devices: HashMap<u32, Parts<Option<Op>>>,
}

impl Compare<'_> {
    fn slow(&self, excess: i64, place: u32, median: u32) -> SlowStep {
        let [here, there] = [place, median].map(|place| &self.steps[place as usize]);
        let [marked_here, marked_there] = [place, median].map(|place| self.marked[place as usize]);
        let by_name = |step: &MarkedSlice| host::by_name(self.trace, self.nesting, step);
        let mut host = differences(&by_name(&marked_here), &by_name(&marked_there), DifferenceSubject::Name);
        host.push(plain(DifferenceSubject::NoSlice, here.unexplained, there.unexplained));
        // A device mark has no host time, and its kernels are slices of its own track.
        if [here, there].iter().all(|step| step.split.host.saturating_add(step.split.both) == step.mark_duration) {
            host.push(plain(DifferenceSubject::DeviceOnly, here.split.device, there.split.device));
            host.push(plain(DifferenceSubject::Neither, here.split.neither, there.split.neither));
        }
        let nothing = Parts::default();
        let of_device = |place: u32| self.devices.get(&place).unwrap_or(&nothing);
        let mut device = differences(of_device(place), of_device(median), DifferenceSubject::DeviceOp);
        if here.device.n_slices > 0 || there.device.n_slices > 0 {
            device.push(plain(DifferenceSubject::DeviceIdle, here.device.idle(), there.device.idle()));
        }
        SlowStep {
            step: place as usize,
            median: median as usize,
            excess,
            host: largest(host),
            device: largest(device),
            gap: host::longest_gap(self.trace, self.nesting, &marked_here),
        }
    }
}

fn plain(what: DifferenceSubject, here: i64, median: i64) -> Difference {
    Difference { what, here, median, count: 0, median_count: 0 }
}

fn differences<K: Copy + Eq + Hash>(
    here: &Parts<K>,
    there: &Parts<K>,
    what: impl Fn(K) -> DifferenceSubject,
) -> Vec<Difference> {
    let only_there = there.keys().filter(|key| !here.contains_key(*key));
    let difference = |key: &K| {
        let (time, count) = here.get(key).copied().unwrap_or_default();
        let (median, median_count) = there.get(key).copied().unwrap_or_default();
        Difference { what: what(*key), here: time, median, count, median_count }
    };
    here.keys().chain(only_there).map(difference).collect()
}

/// Returns the entries that differ, the largest difference first.
fn largest(mut differences: Vec<Difference>) -> Vec<Difference> {
    differences.retain(|difference| difference.excess() != 0);
    differences.sort_unstable_by_key(|difference| (Reverse(difference.excess().unsigned_abs()), difference.what));
    differences.truncate(DIFFERENCES_MAX);
    differences
}
