//! Duration of single spans at a steady rate: the tail that an average hides.

use std::time::{Duration, Instant};

use crate::args::Args;
use crate::child::{self, Job, Task};
use crate::contenders::{Contender as _, FLOOR, Outcome, floor, ours};
use crate::rounds::Rounds;
use crate::sys;
use crate::table::{Cell, Table};

/// One second at a million spans per second.
const SPANS: usize = 1_000_000;
const PERIOD_NS: f64 = 1_000.0;
const MOST_ROUNDS: u32 = 5;

const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)];

pub(crate) fn run(args: &Args) -> Outcome<Vec<Table>> {
    [1, 2].into_iter().map(|threads| table(args, threads)).collect()
}

fn table(args: &Args, threads: usize) -> Outcome<Table> {
    let names = [FLOOR.name(), ours::SPOOL.name()];
    let mut figures: [[Rounds; 4]; 2] = Default::default();
    for _ in 0..args.rounds.min(MOST_ROUNDS) {
        for (name, figures) in names.iter().zip(&mut figures) {
            let scratch = tempfile::tempdir()?;
            let answer = Job { threads, dir: scratch.path().to_owned(), ..Job::new(Task::Latency, name) }.run()?;
            for ((quantile, _), rounds) in QUANTILES.iter().zip(figures) {
                rounds.push(answer[*quantile]);
            }
        }
    }
    let rows = names.iter().zip(&figures).map(|(name, figures)| {
        let cells = figures.iter().flat_map(|rounds| [Cell::maybe(rounds.min(), 0), Cell::maybe(rounds.median(), 0)]);
        [Cell::text(*name)].into_iter().chain(cells).collect()
    });
    Ok(Table {
        title: format!("Latency, {threads} thread{}", if threads == 1 { "" } else { "s" }),
        note: format!(
            "Nanoseconds of wall time of a single span at one million a second and thread, for one second, with the two \
             clock reads that time it. Minimum and median over {} rounds.",
            args.rounds.min(MOST_ROUNDS)
        ),
        columns: vec![
            "contender",
            "p50 min",
            "p50 med",
            "p99 min",
            "p99 med",
            "p99.9 min",
            "p99.9 med",
            "max min",
            "max med",
        ],
        rows: rows.collect(),
    })
}

pub(crate) fn child(job: &Job) -> Outcome {
    let is_floor = job.contender == FLOOR.name();
    if !is_floor {
        ours::start(&job.dir.join("paced.spool"))?;
    }
    let cycles_per_ns = cycles_per_ns();
    let period = (PERIOD_NS * cycles_per_ns) as u64;
    let one_thread = || {
        // Ones, not zeros: the pages of the samples must be touched before the measurement.
        let mut samples = vec![1_u32; SPANS];
        if is_floor {
            let mut slot = [0; 4];
            paced(&mut samples, period, |idx| floor::span(&mut slot, idx));
            std::hint::black_box(&slot);
        } else {
            paced(&mut samples, period, |_| ours::one_span());
        }
        samples
    };
    let mut samples: Vec<u32> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..job.threads).map(|_| scope.spawn(one_thread)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no recorder panics")).collect()
    });
    if !is_floor {
        ours::verify(samples.len() as u64)?;
    }
    samples.sort_unstable();
    let at = |quantile: f64| samples[((samples.len() - 1) as f64 * quantile).round() as usize];
    child::print_answer(
        &QUANTILES
            .iter()
            .map(|(name, quantile)| ((*name).to_owned(), f64::from(at(*quantile)) / cycles_per_ns))
            .collect(),
    )?;
    sys::exit_now()
}

/// Times one span at each beat. A beat that was missed while the thread was not running is skipped, since a burst would
/// change the rate.
fn paced(samples: &mut [u32], period: u64, mut span: impl FnMut(u64)) {
    let mut beat = sys::cycles();
    for (idx, sample) in samples.iter_mut().enumerate() {
        beat = (beat + period).max(sys::cycles());
        while sys::cycles() < beat {
            std::hint::spin_loop();
        }
        let begin = sys::cycles();
        span(idx as u64);
        let end = sys::cycles();
        *sample = u32::try_from(end.saturating_sub(begin)).unwrap_or(u32::MAX);
    }
}

/// The rate of the cycle counter, measured against the monotonic clock.
fn cycles_per_ns() -> f64 {
    let (clock, counter) = (Instant::now(), sys::cycles());
    std::thread::sleep(Duration::from_millis(50));
    (sys::cycles() - counter) as f64 / clock.elapsed().as_nanos() as f64
}
