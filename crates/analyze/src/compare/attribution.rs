//! Splits the change of the mean step into parts that sum to it.
//!
//! ```text
//! change of the mean step = batch mix + outlier steps + sum over the parts of typical steps
//! ```
//!
//! The *batch mix* is the part that comes from having other batches. The rest compares both sides at a common mix:
//! each stratum counts by the mean of its shares of the steps of both sides. *Outlier steps* are far longer than the
//! other steps of their run and stratum: one interruption by the system would hide what changed in all other steps.

use super::mix::common_weights;
use crate::runs::{PartKey, Place, Profile, Stratum, StratumProfile, Unit};
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Split of the change of the mean step. Times are nanoseconds per step, rounded so that they sum exactly.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribution {
    /// The unit of the mean: a step, or a whole trace.
    pub unit: Unit,
    /// Number of base and new steps in the strata that both sides have.
    pub n_steps: (u64, u64),
    /// Mean of all base and all new steps, each with its own mix of batches.
    pub mean_ns: (i64, i64),
    /// Mean at the common mix of batches.
    pub common_mean_ns: (i64, i64),
    /// Change of the mean, each side with its own mix.
    pub change_ns: i64,
    /// The part of the change that comes from the mix of batches.
    pub mix_ns: i64,
    /// The part that comes from outlier steps.
    pub outliers_ns: i64,
    /// Number of base and new outlier steps.
    pub n_outliers: (u64, u64),
    /// The parts of typical steps, the largest change first.
    pub causes: Vec<Cause>,
    /// Strata that only one side has, with their numbers of base and new steps. They are in the batch mix.
    pub one_sided: Vec<(Stratum, u64, u64)>,
}

/// Change of one operation in typical steps. Times are nanoseconds per step.
#[derive(Clone, Debug, PartialEq)]
pub struct Cause {
    /// The place.
    pub place: Place,
    /// The category.
    pub category: String,
    /// Name of the slices, or of the operation that launched them; see [`is_operation`](Self::is_operation).
    pub name: String,
    /// True if `name` is the operation that launched kernels, because the kernels of both sides have different names.
    pub is_operation: bool,
    /// The layer, if a single one has most of the change of several layers.
    pub layer: Option<u32>,
    /// Time in base and new steps.
    pub time_ns: (i64, i64),
    /// Calls in base and new steps.
    pub calls: (f64, f64),
    /// Change of the time.
    pub change_ns: i64,
    /// The part of the change that comes from more or fewer calls.
    pub calls_ns: i64,
    /// The part of the change that comes from longer or shorter calls.
    pub longer_ns: i64,
}

/// Share of the change of an operation from which a single layer is named.
const LAYER_SHARE: f64 = 0.6;
/// Share of the device time below which the kernels of both sides count as different.
const COMMON_SHARE: f64 = 0.5;

/// Time and calls of a part, per step at the common mix.
#[derive(Clone, Copy, Debug, Default)]
struct PerStep {
    time: [f64; 2],
    calls: [f64; 2],
}

/// Identity of a cause.
type GroupKey<'a> = (Place, &'a str, &'a str);

/// Splits the change between two profiles. `None` if they have no stratum in common.
pub fn attribute(base: &Profile, new: &Profile) -> Option<Attribution> {
    if base.unit != new.unit {
        return None;
    }
    let mix = Mix::of(base, new)?;
    let parts = mix.parts(base, new);
    let is_by_operation = has_other_kernels(&parts) && has_operations(&parts);
    let groups = group(&parts, is_by_operation);
    let mean = |profile: &Profile| profile.total().1 as f64 / profile.total().0.max(1) as f64;
    let means = [mean(base), mean(new)];
    let common = mix.common_means();
    let outliers = mix.outliers();
    let rounded = Rounded::of(means, common, outliers, groups.iter().map(|group| group.sum.change()));
    let mut causes: Vec<Cause> = groups
        .into_iter()
        .zip(rounded.parts)
        .map(|(group, change_ns)| group.into_cause(change_ns, is_by_operation))
        .collect();
    causes.sort_by(|one, two| {
        let key = |it: &Cause| Reverse(it.change_ns.unsigned_abs());
        key(one)
            .cmp(&key(two))
            .then_with(|| (one.place, &one.category, &one.name).cmp(&(two.place, &two.category, &two.name)))
    });
    Some(Attribution {
        unit: base.unit.unwrap_or_default(),
        n_steps: mix.n_steps(),
        mean_ns: (round(means[0]), round(means[1])),
        common_mean_ns: (round(common[0]), round(common[1])),
        change_ns: rounded.total,
        mix_ns: rounded.mix,
        outliers_ns: rounded.outliers,
        n_outliers: mix.n_outliers(),
        causes,
        one_sided: one_sided(base, new),
    })
}

/// The strata that both sides have, with common weights that sum to 1.
struct Mix<'a> {
    strata: Vec<(f64, [&'a StratumProfile; 2])>,
}

impl<'a> Mix<'a> {
    fn of(base: &'a Profile, new: &'a Profile) -> Option<Self> {
        let mut strata: Vec<(f64, [&StratumProfile; 2])> = Vec::new();
        for (stratum, one) in base.strata.iter().filter(|(_, one)| one.n_typical > 0) {
            if let Some(two) = new.strata.get(stratum).filter(|two| two.n_typical > 0) {
                strata.push((0.0, [one, two]));
            }
        }
        let n_steps: Vec<[u64; 2]> = strata.iter().map(|(_, both)| both.map(StratumProfile::n_steps)).collect();
        for ((weight, _), common) in strata.iter_mut().zip(common_weights(&n_steps)) {
            *weight = common;
        }
        (!strata.is_empty()).then_some(Self { strata })
    }

    fn n_steps(&self) -> (u64, u64) {
        let sum = |side: usize| self.strata.iter().map(|(_, both)| both[side].n_steps()).fold(0, u64::saturating_add);
        (sum(0), sum(1))
    }

    fn n_outliers(&self) -> (u64, u64) {
        let sum = |side: usize| self.strata.iter().map(|(_, both)| both[side].n_outliers).fold(0, u64::saturating_add);
        (sum(0), sum(1))
    }

    fn weighted(&self, value: impl Fn(&StratumProfile) -> f64) -> [f64; 2] {
        [0, 1].map(|side| self.strata.iter().map(|(weight, both)| weight * value(both[side])).sum())
    }

    fn common_means(&self) -> [f64; 2] {
        self.weighted(|it| it.total_ns() as f64 / it.n_steps().max(1) as f64)
    }

    /// Returns the excess of the mean of all steps over the mean of typical steps.
    fn outliers(&self) -> [f64; 2] {
        let typical = self.weighted(|it| it.typical_ns as f64 / it.n_typical.max(1) as f64);
        let all = self.common_means();
        [all[0] - typical[0], all[1] - typical[1]]
    }

    /// Returns the time and calls of each part of typical steps.
    fn parts<'k>(&self, base: &'k Profile, new: &'k Profile) -> Vec<(&'k PartKey, PerStep)> {
        let mut sums: HashMap<&PartKey, PerStep> = HashMap::new();
        for (weight, both) in &self.strata {
            for (side, profile) in [base, new].into_iter().enumerate() {
                let factor = weight / both[side].n_typical.max(1) as f64;
                for (&key, part) in &both[side].parts {
                    let Some(key) = profile.keys.get(key as usize) else { continue };
                    let sum = sums.entry(key).or_default();
                    sum.time[side] += factor * part.time_ns as f64;
                    sum.calls[side] += factor * part.count as f64;
                }
            }
        }
        let mut parts: Vec<_> = sums.into_iter().collect();
        parts.sort_unstable_by_key(|(key, _)| *key);
        parts
    }
}

impl PerStep {
    fn add(&mut self, other: &Self) {
        for side in [0, 1] {
            self.time[side] += other.time[side];
            self.calls[side] += other.calls[side];
        }
    }

    fn change(&self) -> f64 {
        self.time[1] - self.time[0]
    }

    /// Returns the part of the change that comes from the number of calls: their change, at the mean duration of a call
    /// on both sides. A side without calls has the duration of the other.
    fn change_by_calls(&self) -> f64 {
        let durations: Vec<f64> = [0, 1]
            .into_iter()
            .filter(|&side| self.calls[side] > 0.0)
            .map(|side| self.time[side] / self.calls[side])
            .collect();
        let mean = durations.iter().sum::<f64>() / durations.len().max(1) as f64;
        (self.calls[1] - self.calls[0]) * mean
    }
}

/// Parts of one cause.
struct Group<'a> {
    key: GroupKey<'a>,
    sum: PerStep,
    layers: BTreeMap<Option<u32>, f64>,
}

/// Returns true if the kernels of both sides mostly have different names.
fn has_other_kernels(parts: &[(&PartKey, PerStep)]) -> bool {
    let mut by_name: HashMap<&str, [f64; 2]> = HashMap::new();
    for (key, sum) in parts.iter().filter(|(key, _)| key.place == Place::Device) {
        let times = by_name.entry(&key.name).or_default();
        times[0] += sum.time[0];
        times[1] += sum.time[1];
    }
    let total = |side: usize| by_name.values().map(|times| times[side]).sum::<f64>();
    let common: Vec<&[f64; 2]> = by_name.values().filter(|times| times[0] > 0.0 && times[1] > 0.0).collect();
    [0, 1].iter().any(|&side| common.iter().map(|times| times[side]).sum::<f64>() < COMMON_SHARE * total(side))
}

/// Returns true if the operations that launched most of the device work are known on both sides.
fn has_operations(parts: &[(&PartKey, PerStep)]) -> bool {
    let sum = |side: usize, is_known: bool| -> f64 {
        let device = parts.iter().filter(|(key, _)| key.place == Place::Device);
        device.filter(|(key, _)| !is_known || !key.parent.is_empty()).map(|(_, sum)| sum.time[side]).sum()
    };
    [0, 1].iter().all(|&side| sum(side, true) >= COMMON_SHARE * sum(side, false))
}

fn group<'a>(parts: &[(&'a PartKey, PerStep)], is_by_operation: bool) -> Vec<Group<'a>> {
    let mut places: HashMap<GroupKey<'a>, usize> = HashMap::new();
    let mut groups: Vec<Group<'a>> = Vec::new();
    for (key, sum) in parts {
        let is_operation = is_by_operation && key.place == Place::Device && !key.parent.is_empty();
        let group_key: GroupKey<'a> = match is_operation {
            true => (key.place, "", &key.parent),
            false => (key.place, &key.category, &key.name),
        };
        let place = *places.entry(group_key).or_insert_with(|| {
            groups.push(Group { key: group_key, sum: PerStep::default(), layers: BTreeMap::new() });
            groups.len() - 1
        });
        groups[place].sum.add(sum);
        *groups[place].layers.entry(key.layer).or_default() += sum.change();
    }
    groups
}

impl Group<'_> {
    fn into_cause(self, change_ns: i64, is_by_operation: bool) -> Cause {
        let (place, category, name) = self.key;
        let calls_ns = round(self.sum.change_by_calls());
        Cause {
            place,
            category: category.to_owned(),
            name: name.to_owned(),
            is_operation: is_by_operation && place == Place::Device,
            layer: self.layer(),
            time_ns: (round(self.sum.time[0]), round(self.sum.time[1])),
            calls: (self.sum.calls[0], self.sum.calls[1]),
            change_ns,
            calls_ns,
            longer_ns: change_ns.saturating_sub(calls_ns),
        }
    }

    /// Returns the layer that has most of the change, if there are others.
    fn layer(&self) -> Option<u32> {
        let n_layers = self.layers.keys().flatten().count();
        let sum: f64 = self.layers.values().map(|change| change.abs()).sum();
        let (layer, change) = self.layers.iter().max_by(|one, two| one.1.abs().total_cmp(&two.1.abs()))?;
        layer.filter(|_| n_layers > 2 && change.abs() >= LAYER_SHARE * sum && sum > 0.0)
    }
}

fn one_sided(base: &Profile, new: &Profile) -> Vec<(Stratum, u64, u64)> {
    let count = |profile: &Profile, stratum: &Stratum| profile.strata.get(stratum).map_or(0, StratumProfile::n_steps);
    let mut strata: Vec<Stratum> = base.strata.keys().chain(new.strata.keys()).copied().collect();
    strata.sort_unstable();
    strata.dedup();
    let counted = strata.into_iter().map(|stratum| (stratum, count(base, &stratum), count(new, &stratum)));
    counted.filter(|&(_, base, new)| base == 0 || new == 0).collect()
}

/// Whole nanoseconds that sum to their total.
struct Rounded {
    total: i64,
    mix: i64,
    outliers: i64,
    parts: Vec<i64>,
}

impl Rounded {
    /// Rounds all parts down and distributes the remaining nanoseconds to those with the largest fractions.
    fn of(means: [f64; 2], common: [f64; 2], outliers: [f64; 2], parts: impl Iterator<Item = f64>) -> Self {
        let total = round(means[1] - means[0]);
        let mix = (means[1] - means[0]) - (common[1] - common[0]);
        let exact: Vec<f64> = [mix, outliers[1] - outliers[0]].into_iter().chain(parts).collect();
        let mut whole: Vec<i64> = exact.iter().map(|part| part.floor() as i64).collect();
        let missing = total.saturating_sub(whole.iter().fold(0, |sum, part| sum.saturating_add(*part)));
        let mut order: Vec<usize> = (0..exact.len()).collect();
        order.sort_by(|&one, &two| (exact[two] - exact[two].floor()).total_cmp(&(exact[one] - exact[one].floor())));
        // Usually fewer than there are parts; sums beyond 2^53 are not exact as floats.
        let (each, rest) = (missing / order.len() as i64, missing % order.len() as i64);
        for (n, place) in order.into_iter().enumerate() {
            whole[place] = whole[place].saturating_add(each + i64::from((n as i64) < rest.abs()) * rest.signum());
        }
        let parts = whole.split_off(2);
        Self { total, mix: whole[0], outliers: whole[1], parts }
    }
}

fn round(value: f64) -> i64 {
    value.round() as i64
}

impl Attribution {
    /// Returns the sum of all parts, which is the change.
    pub fn sum_of_parts(&self) -> i64 {
        let causes = self.causes.iter().fold(0_i64, |sum, cause| sum.saturating_add(cause.change_ns));
        causes.saturating_add(self.mix_ns).saturating_add(self.outliers_ns)
    }
}
