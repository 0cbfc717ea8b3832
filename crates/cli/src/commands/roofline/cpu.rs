//! Measures the peaks of this machine's CPU.
//!
//! All threads do the same work at the same time for several short rounds, and the best round counts: other programs
//! make a round slower and never faster.

use ferrum_trace_analyze::{DataType, DeviceSpec};
use pulp::{Arch, Simd, WithSimd};
use std::hint::black_box;
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// Number of rounds of each measurement.
const ROUNDS: usize = 8;
/// Duration of a round.
const ROUND: Duration = Duration::from_millis(40);
/// Values that each thread updates in turn. Each update depends on the one before of the same value, which takes about
/// five cycles, so two units per core need at least ten values.
const CHAINS: usize = 12;
/// Updates of each value between two reads of the clock.
const UPDATES: usize = 2_000;
/// Bytes that all threads read together: more than caches hold.
const BYTES_MIN: usize = 256 << 20;
/// Bytes that each thread reads, at least.
const BYTES_OF_THREAD_MIN: usize = 8 << 20;
/// Numbers that a thread reads between two reads of the clock.
const BLOCK: usize = 1 << 16;

/// Measures the CPU. Takes about a second.
pub(crate) fn measure() -> DeviceSpec {
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
    let arch = Arch::new();
    let fp32 = best_rate(n_threads, |_| move || arch.dispatch(Products32) as f64);
    let fp64 = best_rate(n_threads, |_| move || arch.dispatch(Products64) as f64);
    let memory = best_rate(n_threads, |n_threads| {
        let numbers = vec![1.0_f32; (BYTES_MIN / n_threads).max(BYTES_OF_THREAD_MIN) / size_of::<f32>()];
        let mut at = 0;
        move || {
            let block = &numbers[at..(at + BLOCK).min(numbers.len())];
            at = if at + BLOCK < numbers.len() { at + BLOCK } else { 0 };
            black_box(arch.dispatch(Sum(block)));
            size_of_val(block) as f64
        }
    });
    DeviceSpec {
        name: format!("{}, {n_threads} threads", model_name()),
        memory: Some(memory),
        vector: vec![(DataType::Fp32, fp32), (DataType::Fp64, fp64)],
        ..DeviceSpec::default()
    }
}

/// Returns a device in the format of `--devices`.
pub(crate) fn as_table(device: &DeviceSpec) -> String {
    let mut text = format!("# Measured.\n[{}]\n", device.name);
    if let Some(memory) = device.memory {
        text.push_str(&format!("memory = {:.1}\n", memory / 1e9));
    }
    for (data_type, rate) in &device.vector {
        text.push_str(&format!("vector.{} = {:.4}\n", data_type.name(), rate / 1e12));
    }
    text
}

/// Returns the largest sum over threads of amounts of work per second. `prepare` makes the work of a thread, of the
/// number of threads; the work returns its amount.
fn best_rate<W: FnMut() -> f64>(n_threads: usize, prepare: impl Fn(usize) -> W + Sync) -> f64 {
    let barrier = Barrier::new(n_threads);
    let of_thread = || {
        let mut work = prepare(n_threads);
        let rates: Vec<f64> = (0..ROUNDS)
            .map(|_| {
                barrier.wait();
                rate_of_round(&mut work)
            })
            .collect();
        rates
    };
    let rates: Vec<Vec<f64>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..n_threads).map(|_| scope.spawn(of_thread)).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let of_round = |round: usize| rates.iter().filter_map(|rates| rates.get(round)).sum();
    (0..ROUNDS).map(of_round).fold(0.0, f64::max)
}

#[expect(
    clippy::disallowed_methods,
    reason = "it measures this machine, and no figure of a trace depends on the clock"
)]
fn rate_of_round(work: &mut impl FnMut() -> f64) -> f64 {
    let (begin, mut amount) = (Instant::now(), 0.0);
    loop {
        amount += work();
        let elapsed = begin.elapsed();
        if elapsed >= ROUND {
            return amount / elapsed.as_secs_f64();
        }
    }
}

/// Products and sums of `f32`. Returns their number of FLOP.
struct Products32;

impl WithSimd for Products32 {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> usize {
        let (factor, term) = (simd.splat_f32s(0.999), simd.splat_f32s(0.001));
        let mut values = [simd.splat_f32s(black_box(1.0)); CHAINS];
        for _ in 0..UPDATES {
            for value in &mut values {
                *value = simd.mul_add_f32s(*value, factor, term);
            }
        }
        black_box(values);
        2 * UPDATES * CHAINS * S::F32_LANES
    }
}

/// The same of `f64`.
struct Products64;

impl WithSimd for Products64 {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> usize {
        let (factor, term) = (simd.splat_f64s(0.999), simd.splat_f64s(0.001));
        let mut values = [simd.splat_f64s(black_box(1.0)); CHAINS];
        for _ in 0..UPDATES {
            for value in &mut values {
                *value = simd.mul_add_f64s(*value, factor, term);
            }
        }
        black_box(values);
        2 * UPDATES * CHAINS * S::F64_LANES
    }
}

/// The sum of numbers, which reads each once.
struct Sum<'a>(&'a [f32]);

impl WithSimd for Sum<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        let (vectors, rest) = S::as_simd_f32s(self.0);
        let mut sums = [simd.splat_f32s(0.0); 8];
        for vectors in vectors.chunks(sums.len()) {
            for (sum, vector) in sums.iter_mut().zip(vectors) {
                *sum = simd.add_f32s(*sum, *vector);
            }
        }
        let whole: f32 = sums.into_iter().map(|sum| simd.reduce_sum_f32s(sum)).sum();
        whole + rest.iter().sum::<f32>()
    }
}

/// Returns the name of the CPU, as Linux states it, else that of its architecture.
fn model_name() -> String {
    let known = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        let name = line.split_once(':')?.1.trim();
        (!name.is_empty()).then(|| name.replace(['[', ']', '#'], " "))
    });
    known.unwrap_or_else(|| format!("{} CPU", std::env::consts::ARCH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrum_trace_analyze::DeviceTable;

    #[test]
    fn the_sum_reads_each_number_once() {
        let numbers: Vec<f32> = (0..1001).map(|n| (n % 7) as f32).collect();
        assert_eq!(Arch::new().dispatch(Sum(&numbers)), numbers.iter().sum::<f32>());
    }

    #[test]
    fn the_rates_of_threads_add_up_and_the_best_round_counts() {
        let rate = best_rate(3, |_| {
            move || {
                std::thread::sleep(ROUND);
                1.0
            }
        });
        let of_thread = 1.0 / ROUND.as_secs_f64();
        assert!(rate > 0.0 && rate <= 3.0 * of_thread, "{rate} of at most {}", 3.0 * of_thread);
    }

    #[test]
    fn a_measured_device_is_a_table_of_devices() {
        let device = DeviceSpec {
            name: "a CPU, 2 threads".to_owned(),
            memory: Some(20.5e9),
            vector: vec![(DataType::Fp32, 0.123e12), (DataType::Fp64, 0.061e12)],
            ..DeviceSpec::default()
        };
        let mut table = DeviceTable::default();
        table.extend(&as_table(&device)).unwrap();
        assert_eq!(table.find("a cpu, 2 threads"), Some(&device));
    }
}
