//! Error rates of `ferrum-trace diff` and `gate` on runs of `examples/engine`: false alarms between equal sides (A/A),
//! and slowdowns of a known operation that they find.

mod plan;
mod programs;
mod progress;
mod results;
mod shares;
mod tables;
mod tally;

use std::path::{Path, PathBuf};

use crate::args::Args;
use crate::contenders::Outcome;
use crate::engine_runs::Engine;
use crate::sys;
use crate::table::Table;
use plan::{Plant, Plants, Series, Side};
use programs::Programs;
use progress::Progress;
use results::{DiffResult, GateResult};
use shares::Shares;
use tally::Tally;

/// Operations that planted slowdowns slow down in turn.
const OPS: [&str; 5] = ["attention", "qkv_proj", "gate_up_proj", "down_proj", "lm_head"];
/// Number of runs from which the shares of operations are computed.
const SHARE_RUNS: usize = 5;

/// The results of the comparisons of one series.
struct SeriesResult {
    series: Series,
    /// A tally for each operation; one for an A/A series.
    tallies: Vec<(Option<Plant>, Tally)>,
}

/// Makes all comparisons. An error, SIGINT (Ctrl-C) or SIGTERM ends them; the results so far are kept.
pub(crate) fn run(args: &Args) -> Outcome<Vec<Table>> {
    let programs = Programs::build()?;
    let scratch = tempfile::tempdir()?;
    sys::catch_interrupts();
    let lab = Lab {
        engine: Engine::prepare(programs.engine.clone(), scratch.path())?,
        programs,
        scratch: scratch.path().to_owned(),
    };
    let plants = Plants::new(&lab.shares()?);
    let all = plan::series(args);
    let mut progress = Progress::new(all.iter().map(Series::n_runs).sum());
    let (mut results, mut why_early) = (Vec::new(), None);
    for series in all {
        let mut result = SeriesResult::new(series, &plants);
        let outcome = lab.compare_all(&mut result, &mut progress);
        results.push(result);
        if let Err(error) = outcome {
            why_early = Some(if sys::is_interrupted() { "interrupted".into() } else { error });
            break;
        }
    }
    if results.iter().all(|result| result.sum().n_comparisons == 0) {
        return Err(why_early.unwrap_or_else(|| "expected comparisons, found none".into()));
    }
    Ok(tables::all(&results, why_early.map(|why| why.to_string()).as_deref()))
}

impl SeriesResult {
    fn new(series: Series, plants: &Plants) -> Self {
        let tallies = match series.slowdown {
            Some(slowdown) => plants.of(slowdown).map(|plant| (Some(plant), Tally::default())).collect(),
            None => vec![(None, Tally::default())],
        };
        Self { series, tallies }
    }

    /// The tally of all operations.
    fn sum(&self) -> Tally {
        let mut sum = Tally::default();
        self.tallies.iter().for_each(|(_, tally)| sum.append(tally));
        sum
    }
}

/// The programs, and a folder for their files.
struct Lab {
    programs: Programs,
    engine: Engine,
    scratch: PathBuf,
}

impl Lab {
    /// The share of each operation in the time of steps.
    fn shares(&self) -> Outcome<Shares> {
        let mut shares = Shares::default();
        for _ in 0..SHARE_RUNS {
            let path = self.scratch.join("share.spool");
            self.engine.run(&path, &[])?;
            shares.add(&path)?;
            std::fs::remove_file(&path)?;
        }
        Ok(shares)
    }

    fn compare_all(&self, result: &mut SeriesResult, progress: &mut Progress) -> Outcome {
        let series = result.series;
        for n in 0..series.n_comparisons {
            if sys::is_interrupted() {
                return Err("interrupted".into());
            }
            let place = n % result.tallies.len().max(1);
            let Some((plant, tally)) = result.tallies.get_mut(place) else { return Ok(()) };
            // Each side goes first equally often.
            let order = plan::interleaved(series.runs, n % 2 == 1);
            let (diff, gate) = self.compare(&order, plant.as_ref())?;
            tally.count(&diff, gate, plant.as_ref().map(|plant| plant.op));
            progress.add(series.runs * 2, &format!("{}: {} of {}", series.name(), n + 1, series.n_comparisons));
        }
        Ok(())
    }

    /// Makes one comparison and deletes its traces.
    fn compare(&self, order: &[Side], plant: Option<&Plant>) -> Outcome<(DiffResult, GateResult)> {
        let folder = tempfile::tempdir_in(&self.scratch)?;
        let (base, new) = (folder.path().join("base"), folder.path().join("new"));
        for side in [&base, &new] {
            std::fs::create_dir(side)?;
        }
        for (n, side) in order.iter().enumerate() {
            let (folder, plant) = match side {
                Side::Base => (&base, None),
                Side::New => (&new, plant),
            };
            let slow = plant.map(|Plant { op, factor, .. }| format!("{op}={factor}"));
            self.engine.run(&run_path(folder, n), slow.as_slice())?;
        }
        Ok((self.programs.diff(&base, &new)?, self.programs.gate(&base, &new)?))
    }
}

fn run_path(folder: &Path, n: usize) -> PathBuf {
    folder.join(format!("run-{:03}.spool", n + 1))
}
