//! Steps by phase and size of the batch.

use super::device::DeviceTime;
use super::span::Split;
use super::step::Step;
use crate::figures::percentile::Distribution;
use ferrum_trace_model::vocab::Phase;
use std::collections::{BTreeMap, BTreeSet};

/// A phase that has more different sizes than this is told by ranges of sizes.
const SIZES_MAX: usize = 16;

/// Sizes of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BatchRange {
    /// The smallest.
    pub from: u64,
    /// The largest.
    pub to: u64,
}

impl BatchRange {
    /// The range between powers of two that a size is in: 1, 2, 3 to 4, 5 to 8, …
    fn around(size: u64) -> Self {
        let to = size.checked_next_power_of_two().unwrap_or(u64::MAX);
        Self { from: if size < 2 { size } else { to / 2 + 1 }, to }
    }
}

/// Steps of one phase and of like batches. Times are nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepGroup {
    /// What they do; `None` if that is not known, or if they are all.
    pub phase: Option<Phase>,
    /// Number of sequences that take part; `None` if that is not known, or if they are all.
    pub batch: Option<BatchRange>,
    /// Number of steps.
    pub count: u64,
    /// The sum of their durations. Steps that overlap both count.
    pub total: i64,
    /// Their durations.
    pub durations: Distribution,
    /// Tokens of prompts.
    pub prefill_tokens: u64,
    /// Tokens that are generated.
    pub decode_tokens: u64,
    /// Steps of which neither is known.
    pub n_without_tokens: u64,
    /// Steps of which work on devices is not in the file. They are in no rate.
    pub n_incomplete: u64,
    /// The time that the results of the other steps take: what steps share because they overlap counts once.
    pub result_time: i64,
    /// The time in which devices work for the other steps.
    pub result_device_time: i64,
    /// Tokens of prompts in the other steps.
    pub result_prefill_tokens: u64,
    /// Tokens that the other steps generate.
    pub result_decode_tokens: u64,
    /// The durations by who works.
    pub split: Split,
    /// The sum of the durations of their marks.
    pub mark_total: i64,
    /// The part of the marks that is in no slice.
    pub unexplained: i64,
    /// What devices do.
    pub device: DeviceTime,
}

impl StepGroup {
    fn of<'a>(steps: impl Iterator<Item = &'a Step>) -> Self {
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

    /// The mean of the durations.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.total as f64 / self.count as f64 }
    }

    /// The part of the marks that is in slices; 1 is all of it.
    pub fn coverage(&self) -> f64 {
        if self.mark_total == 0 { 1.0 } else { 1.0 - self.unexplained as f64 / self.mark_total as f64 }
    }

    /// Tokens per second of the time that the results take: of prompts, and generated. `None` if work on devices of every step is
    /// not in the file.
    pub fn tokens_per_second(&self) -> Option<(f64, f64)> {
        self.per_second(self.result_time)
    }

    /// Tokens per second of the time in which devices work: what the rates would be if devices never waited. `None` if they do
    /// nothing for these steps.
    pub fn tokens_per_device_second(&self) -> Option<(f64, f64)> {
        if self.result_device_time == 0 { None } else { self.per_second(self.result_device_time) }
    }

    /// The tokens of the steps that are complete, per second of a time: of prompts, and generated.
    pub fn per_second(&self, time: i64) -> Option<(f64, f64)> {
        if self.count > 0 && self.n_incomplete == self.count {
            return None;
        }
        let rate = |tokens: u64| if time == 0 { 0.0 } else { tokens as f64 * 1e9 / time as f64 };
        Some((rate(self.result_prefill_tokens), rate(self.result_decode_tokens)))
    }
}

/// Groups, and which steps are in each.
pub(super) struct Grouping {
    pub groups: Vec<StepGroup>,
    /// For each group its steps by their places, the shortest first.
    pub members: Vec<Vec<u32>>,
}

/// All steps as one.
pub(super) fn all(steps: &[Step]) -> StepGroup {
    StepGroup::of(steps.iter())
}

/// Groups steps by phase, then by the size of the batch.
pub(super) fn group(steps: &[Step]) -> Grouping {
    let mut sizes: BTreeMap<Option<Phase>, BTreeSet<u64>> = BTreeMap::new();
    for step in steps {
        sizes.entry(step.mark.phase).or_default().extend(step.mark.batch);
    }
    let mut members: BTreeMap<(Option<Phase>, Option<BatchRange>), Vec<u32>> = BTreeMap::new();
    for (place, step) in steps.iter().enumerate() {
        let has_many = sizes.get(&step.mark.phase).is_some_and(|sizes| sizes.len() > SIZES_MAX);
        let range = |size: u64| if has_many { BatchRange::around(size) } else { BatchRange { from: size, to: size } };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_between_powers_of_two() {
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
