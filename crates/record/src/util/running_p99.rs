//! A running 99th percentile of durations, updated without a lock and in fixed memory.
//!
//! Durations are counted in buckets, 16 between two powers of two, so the result is off by at most 1/32. All counts are
//! halved after every few thousand durations, so that older durations weigh less and less.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Buckets between two powers of two, as a power of two.
const SUB_BITS: u32 = 4;
const SUBS: usize = 1 << SUB_BITS;
/// Values below [`SUBS`] have a bucket each; then there are [`SUBS`] buckets for each position of the leading bit.
const N_BUCKETS: usize = SUBS * (64 - SUB_BITS as usize + 1);
/// Durations that are needed before there is a result.
const ENOUGH: u32 = 100;
/// The result is updated after this many further durations.
const REFRESH_EVERY: u32 = 20;
/// All counts are halved when the total reaches this.
const HALVE_AT: u32 = 4000;

/// Counts of durations and their 99th percentile.
#[derive(Debug)]
pub(crate) struct RunningP99 {
    counts: [AtomicU32; N_BUCKETS],
    total: AtomicU32,
    /// 0 until there are enough durations.
    p99: AtomicU64,
    is_halving: AtomicBool,
}

impl RunningP99 {
    pub(crate) fn new() -> Self {
        Self {
            counts: [const { AtomicU32::new(0) }; N_BUCKETS],
            total: AtomicU32::new(0),
            p99: AtomicU64::new(0),
            is_halving: AtomicBool::new(false),
        }
    }

    /// Returns the percentile, if there are enough durations.
    pub(crate) fn get(&self) -> Option<u64> {
        Some(self.p99.load(Relaxed)).filter(|&p99| p99 > 0)
    }

    /// Counts a duration. Concurrent calls may see each other's durations a little later.
    pub(crate) fn add(&self, nanos: u64) {
        self.counts[bucket_of(nanos)].fetch_add(1, Relaxed);
        let total = self.total.fetch_add(1, Relaxed) + 1;
        if total >= HALVE_AT && !self.is_halving.swap(true, Relaxed) {
            self.halve();
            self.is_halving.store(false, Relaxed);
        }
        if total >= ENOUGH && total.is_multiple_of(REFRESH_EVERY) {
            self.p99.store(self.percentile().max(1), Relaxed);
        }
    }

    /// Halves all counts. The remainder of one bucket carries over to the next, so that no rank moves by more than one.
    fn halve(&self) {
        let (mut over, mut removed) = (0, 0);
        for count in &self.counts {
            let before = count.load(Relaxed);
            let after = (before + over) / 2;
            over = (before + over) % 2;
            // Other threads may have added meanwhile; only this function subtracts.
            count.fetch_sub(before - after, Relaxed);
            removed += before - after;
        }
        self.total.fetch_sub(removed, Relaxed);
    }

    /// Returns the middle of the bucket of the duration that 1 in 100 exceed.
    fn percentile(&self) -> u64 {
        let n_above = self.total.load(Relaxed) / 100;
        let mut n_seen = 0;
        let found = self.counts.iter().rposition(|count| {
            n_seen += count.load(Relaxed);
            n_seen > n_above
        });
        found.map_or(0, middle_of)
    }
}

fn bucket_of(nanos: u64) -> usize {
    let Some(shift) = nanos.checked_ilog2().and_then(|leading| leading.checked_sub(SUB_BITS)) else {
        return nanos as usize;
    };
    SUBS * shift as usize + (nanos >> shift) as usize
}

fn middle_of(bucket: usize) -> u64 {
    if bucket < SUBS {
        return bucket as u64;
    }
    let shift = bucket / SUBS - 1;
    let start = ((bucket % SUBS + SUBS) as u64) << shift;
    start + ((1 << shift) >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Nearest rank: the smallest value that 99 of 100 do not exceed.
    fn exact_p99(values: &[u64]) -> u64 {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        sorted[(99 * sorted.len()).div_ceil(100) - 1]
    }

    fn running_p99(values: &[u64]) -> Option<u64> {
        let running = RunningP99::new();
        values.iter().for_each(|&value| running.add(value));
        running.get()
    }

    #[track_caller]
    fn assert_close(found: u64, exact: u64) {
        assert!(found.abs_diff(exact) <= exact / 32 + 1, "found {found}, expected {exact}");
    }

    #[test]
    fn buckets_follow_each_other_without_gaps() {
        let mut boundaries: Vec<u64> =
            (0..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1]).chain([u64::MAX]).collect();
        boundaries.sort_unstable();
        let mut before = 0;
        for nanos in boundaries {
            let bucket = bucket_of(nanos);
            assert!(bucket >= before && bucket < N_BUCKETS, "{nanos}");
            assert!(middle_of(bucket).abs_diff(nanos) <= nanos / 32 + 1, "{nanos}: {}", middle_of(bucket));
            before = bucket;
        }
        assert_eq!(bucket_of(u64::MAX), N_BUCKETS - 1);
    }

    #[test]
    fn there_is_no_result_before_a_hundred_durations() {
        let values: Vec<u64> = (1..=100).map(|n| 1000 * n).collect();
        assert_eq!(running_p99(&values[..99]), None);
        assert_close(running_p99(&values).unwrap(), 99_000);
    }

    #[test]
    fn old_durations_are_forgotten() {
        let running = RunningP99::new();
        (0..1_000_000).for_each(|_| running.add(1_000));
        assert_close(running.get().unwrap(), 1_000);
        // From now on, a tenth of the steps is slow.
        (0..2_000).for_each(|n| running.add(if n % 10 == 0 { 80_000 } else { 1_000 }));
        assert_close(running.get().unwrap(), 80_000);
        (0..30_000).for_each(|_| running.add(2_000));
        assert_close(running.get().unwrap(), 2_000);
    }

    #[test]
    fn halving_keeps_the_distribution() {
        let running = RunningP99::new();
        // All values differ, so that most buckets have small counts.
        (0..100 * u64::from(HALVE_AT)).for_each(|n| running.add(1_000_000 + n * 7919 % 1_000_000));
        assert_close(running.get().unwrap(), 1_990_000);
        let total = running.total.load(Relaxed);
        assert_eq!(running.counts.iter().map(|count| count.load(Relaxed)).sum::<u32>(), total);
        assert!((HALVE_AT / 2..=HALVE_AT).contains(&total));
    }

    #[test]
    fn threads_add_concurrently() {
        let running = RunningP99::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..100_000).for_each(|n| running.add(5_000 + n % 10)));
            }
        });
        assert_close(running.get().unwrap(), 5_005);
        let total = running.total.load(Relaxed);
        assert_eq!(running.counts.iter().map(|count| count.load(Relaxed)).sum::<u32>(), total);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(50))]

        #[test]
        fn the_result_is_off_by_a_thirty_second_at_most(
            values in prop::collection::vec(prop_oneof![0u64..100, 1_000u64..100_000_000, any::<u64>()], 100..1000),
        ) {
            // The result covers the durations up to the last update.
            let n = values.len() - values.len() % REFRESH_EVERY as usize;
            let (found, exact) = (running_p99(&values).unwrap(), exact_p99(&values[..n]));
            prop_assert!(found.abs_diff(exact) <= exact / 32 + 1, "found {}, expected {}", found, exact);
        }
    }
}
