//! Tests error rates and power of the statistics on simulated runs.
//!
//! A run has 300 steps, whose log times have a standard deviation of 5 % and autocorrelation 0.9. Runs differ by 1 %
//! beyond that. The figure of a run is the median of its steps. Every test has a fixed seed.

use ferrum_trace_analyze::stats::{Design, Order, Random, Side, blocks_of, compare, looks, median};
use std::sync::LazyLock;

const N_STEPS: usize = 300;

/// Medians of the steps of simulated runs, from which runs are drawn. Simulating each run anew takes far longer.
static MEDIANS: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let mut random = Random::new(0);
    (0..4000).map(|_| median_step(&mut random)).collect()
});

const N_TRIALS: usize = 400;

/// Upper limit of a simulated rate whose true value is 5 %: two standard errors of 400 trials above.
const FIVE_PERCENT: f64 = 0.05 + 0.022;

/// Conditions under which runs are made.
#[derive(Clone, Copy)]
struct Conditions {
    n_runs: usize,
    /// Ratio of the new side to the base, less 1.
    slowdown: f64,
    /// Change of the log level over all runs.
    drift: f64,
    /// Share of runs that are 6 % slower.
    share_slow: f64,
    /// Whether the differences between runs have heavy tails: a t distribution with 2 degrees of freedom.
    heavy_tails: bool,
}

/// Figures of the runs of both sides, made in the order ABBA.
struct Runs {
    base: Vec<f64>,
    new: Vec<f64>,
    blocks: Design,
}

/// Number of simulated comparisons with a result.
#[derive(Default)]
struct Alarms {
    /// Comparisons with a significant difference, by independent runs and by blocks.
    independent: usize,
    blocks: usize,
    /// Comparisons whose interval lies above a budget of 1 %.
    independent_budget: usize,
    blocks_budget: usize,
}

impl Conditions {
    fn steady(n_runs: usize) -> Self {
        Self { n_runs, slowdown: 0.0, drift: 0.0, share_slow: 0.0, heavy_tails: false }
    }

    fn runs(&self, random: &mut Random) -> Runs {
        let cycle = [Side::Base, Side::New, Side::New, Side::Base];
        let order: Vec<Side> = cycle.into_iter().cycle().take(2 * self.n_runs).collect();
        let (mut base, mut new) = (Vec::new(), Vec::new());
        for (idx, side) in order.iter().enumerate() {
            let level = self.drift * idx as f64 / order.len() as f64;
            match side {
                Side::Base => base.push(level + self.figure(random)),
                Side::New => new.push(level + self.figure(random) + self.slowdown.ln_1p()),
            }
        }
        Runs { base, new, blocks: Design::Blocks(blocks_of(&order).unwrap()) }
    }

    fn figure(&self, random: &mut Random) -> f64 {
        let scale = if self.heavy_tails { (1.0 - random.unit()).ln().abs().sqrt() } else { 1.0 };
        let mode = if random.unit() < self.share_slow { 0.06_f64.ln_1p() } else { 0.0 };
        MEDIANS[random.below(MEDIANS.len())] + 0.01 * random.normal() / scale + mode
    }

    fn alarms(&self, seed: u64) -> Alarms {
        let mut random = Random::new(seed);
        let mut alarms = Alarms::default();
        for _ in 0..N_TRIALS {
            let runs = self.runs(&mut random);
            let by = |design| compare(&runs.base, &runs.new, design, 0.95).unwrap();
            let (independent, blocks) = (by(&Design::Independent), by(&runs.blocks));
            alarms.independent += usize::from(independent.is_significant());
            alarms.blocks += usize::from(blocks.is_significant());
            alarms.independent_budget += usize::from(independent.low > 0.01_f64.ln_1p());
            alarms.blocks_budget += usize::from(blocks.low > 0.01_f64.ln_1p());
        }
        alarms
    }
}

fn median_step(random: &mut Random) -> f64 {
    let mut level = 0.05 * random.normal();
    let mut step = || {
        level = 0.9 * level + 0.05 * 0.19_f64.sqrt() * random.normal();
        level
    };
    median(&(0..N_STEPS).map(|_| step()).collect::<Vec<f64>>()).unwrap()
}

fn share(count: usize) -> f64 {
    count as f64 / N_TRIALS as f64
}

/// Asserts that sides that do not differ raise few alarms.
fn assert_few_alarms(conditions: Conditions, seed: u64) {
    let alarms = conditions.alarms(seed);
    for (count, limit) in [
        (alarms.independent, FIVE_PERCENT),
        (alarms.blocks, FIVE_PERCENT),
        (alarms.independent_budget, 0.015),
        (alarms.blocks_budget, 0.015),
    ] {
        assert!(share(count) <= limit, "{} runs: {} instead of {limit}", conditions.n_runs, share(count));
    }
}

#[test]
fn equal_sides_raise_few_alarms() {
    assert_few_alarms(Conditions::steady(5), 1);
    assert_few_alarms(Conditions::steady(10), 2);
}

#[test]
fn drift_raises_few_alarms() {
    assert_few_alarms(Conditions { drift: 0.1, ..Conditions::steady(5) }, 3);
    assert_few_alarms(Conditions { drift: 0.1, ..Conditions::steady(10) }, 4);
}

#[test]
fn bimodal_runs_raise_few_alarms() {
    assert_few_alarms(Conditions { share_slow: 0.3, ..Conditions::steady(5) }, 5);
    assert_few_alarms(Conditions { share_slow: 0.3, ..Conditions::steady(10) }, 6);
}

#[test]
fn heavy_tails_raise_few_alarms() {
    assert_few_alarms(Conditions { heavy_tails: true, ..Conditions::steady(5) }, 7);
    assert_few_alarms(Conditions { heavy_tails: true, ..Conditions::steady(10) }, 8);
}

#[test]
fn slowdowns_are_found() {
    for (n_runs, slowdown) in [(10, 0.03), (5, 0.05)] {
        let alarms = Conditions { slowdown, ..Conditions::steady(n_runs) }.alarms(9);
        assert!(share(alarms.independent) >= 0.8, "{n_runs} runs: {}", share(alarms.independent));
        assert!(share(alarms.blocks) >= 0.8, "{n_runs} runs: {}", share(alarms.blocks));
    }
}

#[test]
fn blocks_find_slowdowns_in_spite_of_drift() {
    let alarms = Conditions { slowdown: 0.03, drift: 0.1, ..Conditions::steady(10) }.alarms(10);
    assert!(share(alarms.blocks) >= 0.8, "{}", share(alarms.blocks));
    assert!(share(alarms.independent) < 0.5, "{}", share(alarms.independent));
}

#[test]
fn three_runs_a_side_never_tell() {
    let mut random = Random::new(11);
    for slowdown in [0.0, 0.05, 5.0] {
        for _ in 0..50 {
            let runs = Conditions { slowdown, ..Conditions::steady(3) }.runs(&mut random);
            for design in [&Design::Independent, &runs.blocks] {
                let found = compare(&runs.base, &runs.new, design, 0.95).unwrap();
                assert!(!found.is_significant() && found.low == f64::NEG_INFINITY && found.high == f64::INFINITY);
            }
        }
    }
}

#[test]
fn early_stopping_preserves_the_error_rate() {
    for order in [Order::Separate, Order::Abba] {
        let looks = looks(10, 0.05, order);
        let mut random = Random::new(12);
        let mut stops = || {
            let runs = Conditions::steady(10).runs(&mut random);
            looks.iter().any(|look| {
                let design = order.design(look.n_runs);
                let (base, new) = (&runs.base[..look.n_runs], &runs.new[..look.n_runs]);
                compare(base, new, &design, 1.0 - look.error_rate).unwrap().is_significant()
            })
        };
        let rate = share((0..N_TRIALS).filter(|_| stops()).count());
        assert!(rate <= FIVE_PERCENT, "{order:?}: {rate}");
    }
}
