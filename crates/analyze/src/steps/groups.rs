//! Groups of steps by phase and batch size.

use super::device::DeviceTime;
use super::span::Split;
use super::step::Step;
use crate::figures::percentile::Distribution;
use ferrum_trace_model::vocab::Phase;
use std::collections::{BTreeMap, BTreeSet};

/// A phase with more different sizes than this is grouped by ranges of sizes.
const SIZES_MAX: usize = 16;

/// Range of batch sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BatchRange {
    /// The smallest size.
    pub from: u64,
    /// The largest size.
    pub to: u64,
}

impl BatchRange {
    /// Returns the range of a size: the size itself, or a range around it if there are many sizes.
    pub(super) fn of(size: u64, has_many: bool) -> Self {
        if has_many { Self::around(size) } else { Self { from: size, to: size } }
    }

    /// Returns the range of a size, bounded by powers of two: 1, 2, 3 to 4, 5 to 8, …
    fn around(size: u64) -> Self {
        let to = size.checked_next_power_of_two().unwrap_or(u64::MAX);
        Self { from: if size < 2 { size } else { to / 2 + 1 }, to }
    }
}

/// Steps of one phase and similar batch sizes. Times are nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepGroup {
    /// Their phase; `None` if it is unknown, or for the group of all steps.
    pub phase: Option<Phase>,
    /// Number of sequences that take part; `None` if it is unknown, or for the group of all steps.
    pub batch: Option<BatchRange>,
    /// Number of steps.
    pub count: u64,
    /// Sum of their durations. Steps that overlap both count.
    pub total: i64,
    /// Their durations.
    pub durations: Distribution,
    /// Number of prompt tokens.
    pub prefill_tokens: u64,
    /// Number of generated tokens.
    pub decode_tokens: u64,
    /// Number of steps with unknown token counts.
    pub n_without_tokens: u64,
    /// Number of steps whose device work is not in the file. They are in no rate.
    pub n_incomplete: u64,
    /// Time that the results of the other steps take. Time that overlapping steps share counts once.
    pub result_time: i64,
    /// Time in which devices work for the other steps.
    pub result_device_time: i64,
    /// Prompt tokens of the other steps.
    pub result_prefill_tokens: u64,
    /// Generated tokens of the other steps.
    pub result_decode_tokens: u64,
    /// The durations, split into host and device time.
    pub split: Split,
    /// Sum of the durations of their marks.
    pub mark_total: i64,
    /// Part of the marks that is in no slice.
    pub unexplained: i64,
    /// Time of devices.
    pub device: DeviceTime,
}

impl StepGroup {
    pub(super) fn of<'a>(steps: impl Iterator<Item = &'a Step>) -> Self {
        let mut group = Self::default();
        let mut durations = Vec::new();
        for step in steps {
            let (prefill, decode) = (step.mark.prefill_tokens, step.mark.decode_tokens);
            group.count += 1;
            group.total = group.total.saturating_add(step.duration);
            group.prefill_tokens = group.prefill_tokens.saturating_add(prefill.unwrap_or(0));
            group.decode_tokens = group.decode_tokens.saturating_add(decode.unwrap_or(0));
            group.n_without_tokens += u64::from(prefill.is_none() && decode.is_none());
            if step.is_incomplete {
                group.n_incomplete += 1;
            } else {
                group.result_time = group.result_time.saturating_add(step.result_time);
                let device = step.split.device.saturating_add(step.split.both);
                group.result_device_time = group.result_device_time.saturating_add(device);
                let add = |sum: &mut u64, tokens: Option<u64>| *sum = sum.saturating_add(tokens.unwrap_or(0));
                add(&mut group.result_prefill_tokens, prefill);
                add(&mut group.result_decode_tokens, decode);
            }
            group.split.add(&step.split);
            group.mark_total = group.mark_total.saturating_add(step.mark_duration);
            group.unexplained = group.unexplained.saturating_add(step.unexplained);
            group.device.add(&step.device);
            durations.push(step.duration);
        }
        group.durations = Distribution::of(&mut durations);
        group
    }

    /// Returns the mean duration.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.total as f64 / self.count as f64 }
    }

    /// Returns the part of the marks that is in slices, at most 1.
    pub fn coverage(&self) -> f64 {
        if self.mark_total == 0 { 1.0 } else { 1.0 - self.unexplained as f64 / self.mark_total as f64 }
    }

    /// Returns prompt tokens and generated tokens per second of result time. `None` if device work of every step is
    /// missing in the file.
    pub fn tokens_per_second(&self) -> Option<(f64, f64)> {
        self.per_second(self.result_time)
    }

    /// Returns prompt tokens and generated tokens per second of device time, as if devices never waited. `None` if they
    /// do nothing for these steps.
    pub fn tokens_per_device_second(&self) -> Option<(f64, f64)> {
        if self.result_device_time == 0 { None } else { self.per_second(self.result_device_time) }
    }

    /// Returns prompt tokens and generated tokens of the complete steps, per second of `time`.
    pub fn per_second(&self, time: i64) -> Option<(f64, f64)> {
        if self.count > 0 && self.n_incomplete == self.count {
            return None;
        }
        let rate = |tokens: u64| if time == 0 { 0.0 } else { tokens as f64 * 1e9 / time as f64 };
        Some((rate(self.result_prefill_tokens), rate(self.result_decode_tokens)))
    }
}

/// Groups with their steps.
pub(super) struct Grouping {
    pub groups: Vec<StepGroup>,
    /// Indices of the steps of each group, the shortest first.
    pub members: Vec<Vec<u32>>,
}

/// Returns all steps as one group.
pub(super) fn all(steps: &[Step]) -> StepGroup {
    StepGroup::of(steps.iter())
}

/// Groups steps by phase, then by the size of the batch.
pub(super) fn group(steps: &[Step]) -> Grouping {
    let has_many = has_many_sizes(steps, |step| step.mark.phase);
    let mut members: BTreeMap<(Option<Phase>, Option<BatchRange>), Vec<u32>> = BTreeMap::new();
    for (place, step) in steps.iter().enumerate() {
        let has_many = has_many.get(&step.mark.phase).copied().unwrap_or(false);
        let range = |size: u64| BatchRange::of(size, has_many);
        members.entry((step.mark.phase, step.mark.batch.map(range))).or_default().push(place as u32);
    }
    let mut grouping = Grouping { groups: Vec::new(), members: Vec::new() };
    for ((phase, batch), mut places) in members {
        let group = StepGroup::of(places.iter().map(|&place| &steps[place as usize]));
        grouping.groups.push(StepGroup { phase, batch, ..group });
        places.sort_by_key(|&place| steps[place as usize].duration);
        grouping.members.push(places);
    }
    grouping
}

/// Returns, for each phase, whether its batch sizes are so many that they are grouped by ranges.
pub(super) fn has_many_sizes(
    steps: &[Step],
    phase_of: impl Fn(&Step) -> Option<Phase>,
) -> BTreeMap<Option<Phase>, bool> {
    let mut sizes: BTreeMap<Option<Phase>, BTreeSet<u64>> = BTreeMap::new();
    for step in steps {
        sizes.entry(phase_of(step)).or_default().extend(step.mark.batch);
    }
    sizes.into_iter().map(|(phase, sizes)| (phase, sizes.len() > SIZES_MAX)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_bounded_by_powers_of_two() {
        let range = |size: u64| {
            let BatchRange { from, to } = BatchRange::around(size);
            (from, to)
        };
        let found = [0, 1, 2, 3, 4, 5, 8, 9, 64, 65].map(range);
        let expected = [(0, 1), (1, 1), (2, 2), (3, 4), (3, 4), (5, 8), (5, 8), (9, 16), (33, 64), (65, 128)];
        assert_eq!(found, expected);
        assert_eq!(range(u64::MAX), (u64::MAX / 2 + 1, u64::MAX));
    }
}
